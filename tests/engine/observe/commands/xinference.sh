xinference launch --model-engine vllm --model-name qwen3 --size-in-billions 8 --gpu_memory_utilization 0.9 --max_model_len 32768
