package systemtest

import (
	"os/exec"
	"strings"
	"testing"
)

// TestCompletion runs the completion script in bash. The words of each line are
// split as bash splits them, and the last is completed.
func TestCompletion(t *testing.T) {
	for _, c := range []struct{ line, want string }{
		{"rollmill sc", "score"},
		{"rollmill --quiet expl", "explain"},
		{"rollmill group --estim", "--estimator"},
		{"rollmill --log-f", "--log-format"},
		{"rollmill --log-format j", "json"},
		{"rollmill show runs --log-level w", "warn"},
		{"rollmill submit --backend cust", "customizer"},
		{"rollmill submit --backend = cust", "customizer"},
		{"rollmill submit --backend=cust", "--backend=customizer"}, // in zsh
		{"rollmill submit --backend =", "art openai customizer tinker file command"},
		{"rollmill job wait --backend c", "customizer command"},
		{"rollmill job w", "wait"},
		{"rollmill score --reward ma", "match:"},
		{"rollmill score --reward exact*0.5 = ma", "match:"},
		{"rollmill score --reward exact=ma", "exact=match:"}, // in zsh
		{"rollmill score --reward exact = match : ex", ""},
		{"rollmill score --out ma", ""}, // file names
		{"rollmill rollout --nonsense --agent na", "nat"},
		{"rollmill rollout --sampling temperature = ", ""},
		{"rollmill completion z", "zsh"},
	} {
		words := strings.Split(c.line, " ")
		script := `source <(rollmill completion bash); COMP_WORDS=("$@"); COMP_CWORD=$(($#-1)); _rollmill; echo "${COMPREPLY[@]}"`
		out, err := exec.Command("bash", append([]string{"-c", script, "bash"}, words...)...).CombinedOutput()
		if got := strings.TrimSpace(string(out)); err != nil || got != c.want {
			t.Errorf("%s: %q, want %q (%v)", c.line, got, c.want, err)
		}
	}
}
