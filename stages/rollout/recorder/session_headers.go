package recorder

import (
	"net/http"
	"strings"
)

// sessionHeaders name an agent's conversation: those of Claude Code (which also
// names its sub-agents), Codex and OpenCode, and the general one.
var sessionHeaders = []string{"X-Claude-Code-Session-Id", "X-Claude-Code-Agent-Id", "Session_id", "Session-Id",
	"X-Openai-Subagent", "X-Opencode-Session", "X-Session-Id"}

func sessionOf(h http.Header) string {
	var out []string
	for _, name := range sessionHeaders {
		if v := h.Get(name); v != "" {
			out = append(out, v)
		}
	}
	return strings.Join(out, " ")
}
