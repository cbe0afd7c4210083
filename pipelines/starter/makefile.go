package starter

// In returns a recipe of the Makefile that runs a command where the engine and the
// agent are: in the sandbox, beside the service.
func (c Choices) In(command string) string {
	if c.Agent == "service" {
		command = `python3 service.py & trap "kill $$!" EXIT; ` + command
	}
	if c.Engine != Sandbox {
		return command
	}
	return "rollmill sandbox --dir runs/sandbox --listen 127.0.0.1:0 --exec '" + command + "'"
}

// Epoch is the command of the epochs up to EPOCH. Without a trainer the stages are commands of
// their own; epochs before it that were handed over are left as they are, since the engine and
// its model may be others now.
func (c Choices) Epoch() string {
	if c.Trainer == files {
		return "for epoch in $$(seq 0 $(EPOCH)); do [ $$epoch -lt $(EPOCH) ] && [ -e runs/first/epoch-$$epoch/submit/_receipt.json ] || " +
			"for stage in rollout score group curate submit; do rollmill $$stage --config rollmill.yaml --root " +
			"runs/first --epoch $$epoch || exit; done; done"
	}
	return "rollmill train --config rollmill.yaml --epochs $$(($(EPOCH) + 1))"
}

// Rescore is the command that scores the attempts of an epoch again, and compares.
func (c Choices) Rescore() string {
	return `rollmill score --config rollmill.yaml --root runs/first --epochs $(EPOCH) --as rescore --overwrite ` +
		`--reward "$$REWARD" && rollmill diff --root runs/first --epochs $(EPOCH) --score score --score rescore`
}
