CUDA_VISIBLE_DEVICES=0,1 swift deploy --model Qwen/Qwen3-8B --infer_backend vllm --vllm_max_model_len 32768 --vllm_tensor_parallel_size 2 --max_new_tokens 2048
