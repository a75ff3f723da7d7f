ray start --head --port=6379
ray job submit --address http://127.0.0.1:8265 -- python3 -m vllm.entrypoints.openai.api_server --model Qwen/Qwen3-8B --tensor-parallel-size 8 --pipeline-parallel-size 2 --distributed-executor-backend ray --max-model-len 32768
