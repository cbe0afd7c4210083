# The agent, in any language: it reads one line of JSON, the example, and calls the
# model at OPENAI_BASE_URL, where OpenAI's clients look. Every call is recorded on
# the way. What it prints is not needed: the model's last answer is the answer.
# An exit code other than 0 fails the attempt, with the end of standard error.
question=$(sed -E 's/.*"question": ?"(([^"\\]|\\.)*)".*/\1/')
curl --silent --show-error --fail-with-body "$OPENAI_BASE_URL/chat/completions" \
  --header 'Content-Type: application/json' --header "Authorization: Bearer $OPENAI_API_KEY" \
  --data "{\"model\": \"$OPENAI_MODEL\", \"messages\": [{\"role\": \"user\", \"content\": \"$question\"}]}" >&2
