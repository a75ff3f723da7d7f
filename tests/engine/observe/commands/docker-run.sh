sudo docker run -d --name chat --gpus all --shm-size=8g \
  -e HF_TOKEN=hf_abcdefghijklmnop \
  -v ~/.cache/huggingface:/root/.cache/huggingface \
  vllm/vllm-openai:v0.10.2 \
  --model Qwen/Qwen3-8B --tensor-parallel-size 2 --max-model-len 32768
