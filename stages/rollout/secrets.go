package rollout

import (
	"context"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/secret"
)

// redact removes the process's secrets from a trajectory. A trajectory that
// contained one fails: its text is no longer what the model read and wrote, so
// it cannot be trained on.
func redact(ctx context.Context, t *formats.Trajectory) {
	_, redacted := secret.From(ctx).Trajectory(t)
	if redacted && t.Status != formats.StatusFailed {
		Fail(t, formats.StopError, formats.FailSecret,
			"the conversation held a secret of this process, which is redacted; keep the secret from the agent, or give it "+
				"another value if it is a common word")
	}
}
