// Package inspect reads the logs of Inspect AI, as .eval (a zip with an entry a
// sample) and as JSON.
//
// A sample is a trajectory, and the repeats of a sample, which Inspect calls
// epochs, are the attempts at one example. Its messages are the main path. The
// events of model calls give each answer on it a call: model, sampling, tools,
// usage, log probabilities. Other calls, such as those of subagents, are branches;
// those of scorers are only counted, since they are not the agent's. Calls on a
// branch after the last answer of the main path do not train, so that the main path
// is the one that ends last.
//
// Of the other events, those that a person or a limit caused are in the
// metadata; the rest (changes of the state and the store, spans, the sandbox,
// logs), which describes how the messages came about, is counted there.
package inspect

import (
	"regexp"

	"github.com/rollmill/rollmill/formats/foreign/importers"
)

// Importer reads the logs of Inspect.
var Importer = importers.Format{
	Name:       "inspect",
	Help:       "logs of Inspect AI (.eval and .json), with scores, logprobs and subagents",
	Spec:       "UKGovernmentBEIS/inspect_ai: docs/eval-logs.qmd, src/inspect_ai/log/_log.py",
	Unscored:   regexp.MustCompile(`^scores\.`),
	Extensions: []string{".eval", ".json"},
	Records:    importers.ByExtension(document, map[string]importers.Cut{".eval": archive}),
	Parse:      parse,
}
