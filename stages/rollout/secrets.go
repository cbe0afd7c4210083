package rollout

import (
	"context"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/secret"
)

// redact keeps the process's secrets out of a trajectory. One that says a
// secret fails: its text is no longer what the model read and wrote, so that
// nothing can be trained on it.
func redact(ctx context.Context, t *formats.Trajectory) {
	_, said := secret.From(ctx).Trajectory(t)
	if said && t.Status != formats.StatusFailed {
		t.Status, t.StopReason, t.FailureClass = formats.StatusFailed, formats.StopError, formats.FailSecret
		t.Error = "the conversation held a secret of this process, which is redacted; keep the secret from the agent, or give it another value if it is a common word"
	}
}
