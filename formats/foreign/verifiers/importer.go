// Package verifiers reads and writes the rollouts of PrimeIntellect's verifiers.
// Exporter and Importer say how.
package verifiers

import (
	"errors"
	"regexp"

	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/foreign/value"
)

// Importer reads rollouts of the verifiers library: traces.jsonl of version 1, an
// episode a line, and the earlier results.jsonl.
//
// The nodes of a trace are our tree of messages, with exact tokens. The tokens of a
// node that the model did not sample are part of the prompt_delta_ids of the next
// answer.
var Importer = importers.Format{
	Name:       "verifiers",
	Help:       "traces.jsonl and results.jsonl of verifiers and prime-rl",
	Spec:       "PrimeIntellect-ai/verifiers: verifiers/v1/episode.py, trace.py, graph.py; verifiers/legacy/types.py",
	Unscored:   regexp.MustCompile(`^reward$`),
	Extensions: []string{".jsonl"},
	Records:    importers.Rows,
	Parse:      parse,
}

func parse(r *importers.Record) ([]importers.Item, error) {
	o := value.Object(r, r.Data)
	switch {
	case o.Has("traces"):
		return readEpisode(r, o), nil
	case o.Has("nodes"): // a trace without its episode
		return []importers.Item{readTrace(r, o, nil)}, nil
	case o.Has("completion") || o.Has("trajectory") || o.Has("example_id"):
		return []importers.Item{result(o)}, nil
	}
	return nil, errors.New("it has neither traces (of an episode), nor nodes (of a trace), nor a completion (of a result)")
}
