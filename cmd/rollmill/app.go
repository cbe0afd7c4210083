package main

import (
	"github.com/rollmill/rollmill/cmd/internal/cli"
	"github.com/rollmill/rollmill/cmd/rollmill/settings"
	"github.com/rollmill/rollmill/stages/plugin"
)

// app returns the program. The commands are in the order of help: the stages in the
// order of the data, then the others by heading.
func app() *cli.App {
	return &cli.App{
		Usage:    "turn an agent's runs into training data, one epoch at a time",
		DataFlow: "examples -> rollout -> score -> group -> curate -> submit -> trainer",
		Version:  version(),
		Commands: []cli.Command{
			rolloutCommand,
			scoreCommand,
			groupCommand,
			curateCommand,
			submitCommand,
			refillCommand,
			trainCommand,
			initCommand,
			trialCommand,
			checkCommand,
			sandboxCommand,
			showCommand,
			explainCommand,
			viewCommand,
			reportCommand,
			diffCommand,
			replayCommand,
			auditCommand,
			proveCommand,
			evalCommand,
			importCommand,
			exportCommand,
			jobCommand,
			sealCommand,
			pruneCommand,
			compactCommand,
			cli.Completion(),
		},
		Guides:    folder(guideFiles, "doc/guides"),
		Schemas:   folder(schemaFiles, "doc/schemas"),
		Licences:  licences,
		Shared:    []string{"run", "root", "metrics-file", "prices"},
		Overlay:   cli.Overlay{Name: settings.Validation, Settings: func() plugin.Settings { return &settings.OnlyValidation{} }},
		Variables: givenVariables,
		Keys:      keyVariables,
	}
}

// givenVariables are the variables that this program sets for the programs that
// it runs, which may in turn run rollmill.
var givenVariables = []string{
	"ROLLMILL_SANDBOX_URL", "ROLLMILL_TRAJECTORY_ID", "ROLLMILL_EXAMPLE_ID", "ROLLMILL_GENERATION", "ROLLMILL_EPOCH",
	"ROLLMILL_SEED", "ROLLMILL_TOOL", "ROLLMILL_REWARD",
}

// keyVariables are the variables from which a reward's program and the libraries
// of object stores read keys.
var keyVariables = []string{
	"ROLLMILL_REWARD_API_KEY",
	"AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AZURE_STORAGE_KEY", "AZURE_STORAGE_SAS_TOKEN", "AZURE_CLIENT_SECRET",
}
