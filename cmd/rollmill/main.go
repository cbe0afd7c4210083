// Command rollmill turns an agent's runs into training data, one epoch at a
// time: rollout, score, group, curate, submit.
//
// This package is the commands: each file says what its command is called, what it needs and
// what it prints. The work is done by the packages under stages and pipelines; flags, help, the
// config file and exit codes are package cli's, which also says how to add a command.
package main

import (
	"os"

	"github.com/rollmill/rollmill/formats/workspace"
	"github.com/rollmill/rollmill/stages/rollout/agents/harbor"
	_ "github.com/rollmill/rollmill/storage/stores" // s3, gs and azblob
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == harbor.RelayCommand { // this binary, mounted in a container
		os.Exit(harbor.Relay(os.Args[2:]))
	}
	if len(os.Args) > 1 && os.Args[1] == workspace.Command {
		os.Exit(workspace.Main(os.Args[2:]))
	}
	os.Exit(app().Main())
}
