package harbor

// named has the commands of harnesses with a name. Their programs are as the image or
// the setup installs them. Each reads the instruction as it is, asks the attempt's model
// for all that it asks, and may use every tool, since the container is its sandbox.
var named = map[string]string{
	// Without IS_SANDBOX, root may not skip permissions.
	"claude-code": `export IS_SANDBOX=1 CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1 CLAUDE_CODE_SUBAGENT_MODEL="$ANTHROPIC_MODEL"
export ANTHROPIC_DEFAULT_HAIKU_MODEL="$ANTHROPIC_MODEL" ANTHROPIC_DEFAULT_SONNET_MODEL="$ANTHROPIC_MODEL" ANTHROPIC_DEFAULT_OPUS_MODEL="$ANTHROPIC_MODEL"
printf %s "$INSTRUCTION" | claude -p --dangerously-skip-permissions`,
	// Its plugins are a list that it fetches from GitHub.
	"codex": `printf %s "$INSTRUCTION" | codex exec --skip-git-repo-check --dangerously-bypass-approvals-and-sandbox -m "$OPENAI_MODEL" \
-c analytics.enabled=false -c features.plugins=false -c model_provider=rollmill \
-c "model_providers.rollmill={name=\"rollmill\",base_url=\"$OPENAI_BASE_URL\",env_key=\"OPENAI_API_KEY\",wire_api=\"responses\"}" -`,
	// Without a title, it asks the model for one. Arguments are quoted anew.
	"opencode": `export OPENCODE_DISABLE_MODELS_FETCH=1 OPENCODE_CONFIG_CONTENT="{\"autoupdate\":false,\"share\":\"disabled\",\"permission\":\"allow\",
\"model\":\"rollmill/$OPENAI_MODEL\",\"small_model\":\"rollmill/$OPENAI_MODEL\",\"provider\":{\"rollmill\":{\"npm\":\"@ai-sdk/anthropic\",
\"options\":{\"baseURL\":\"$OPENAI_BASE_URL\",\"apiKey\":\"x\"},\"models\":{\"$OPENAI_MODEL\":{}}}}}"
printf %s "$INSTRUCTION" | opencode run --title task`,
}
