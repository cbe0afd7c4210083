package schema

// The accepted sources of token ids, in order of preference (column
// token_source). The order follows common practice: vLLM, SGLang, vLLM's
// "token_id:N" strings, SGLang's meta_info, NeMo, vLLM's responses.
const (
	TokensChoice     = "choice.token_ids"
	TokensResponse   = "choice.response_token_ids"
	TokensInLogprobs = "logprobs.token_id"
	TokensEntryID    = "logprobs.id"
	TokensMetaInfo   = "meta_info.output_token_logprobs"
	TokensMessage    = "message.generation_token_ids"
	TokensOutput     = "response.output_messages.tokens"
)
