package harbor

import "github.com/rollmill/rollmill/stages/plugin"

// DeclareTaskEnv declares which variables of this machine tasks may read.
func DeclareTaskEnv(d *plugin.Declarer, names *[]string) {
	d.Strings(names, "task-env", "let Harbor tasks read this `NAME` of the environment, which their task.toml asks for as ${NAME}; "+
		"NAME=VALUE gives them another value")
}

// DeclareKeepProcesses declares whether processes live on.
func DeclareKeepProcesses(d *plugin.Declarer, keep *bool) {
	d.Bool(keep, "keep-processes", "do not end what the agent left running before a Harbor task's tests run: "+
		"for tasks that ask for a running program, whose rewards it can forge")
}
