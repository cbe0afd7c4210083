package systemtest

import (
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/rollmill/rollmill/stages/backends/openai/openaitest"
)

// serveFineTuning starts a test server of the OpenAI fine-tuning API and sets
// $FINETUNING to its URL and $OPENAI_API_KEY to its key:
//
//	finetuning
func serveFineTuning(ts *testscript.TestScript, neg bool, _ []string) {
	if neg {
		ts.Fatalf("unsupported: ! finetuning")
	}
	server := openaitest.New(openaitest.Faults{})
	ts.Defer(server.Close)
	ts.Setenv("FINETUNING", server.URL)
	ts.Setenv("OPENAI_API_KEY", openaitest.Key)
}
