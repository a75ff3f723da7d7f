#!/bin/bash
# starts the chat model
export CUDA_VISIBLE_DEVICES=0,1
vllm serve Qwen/Qwen3-8B \
  --tensor-parallel-size 2 \
  --max-model-len 32768 \
  --gpu-memory-utilization 0.9
echo started --port 1
