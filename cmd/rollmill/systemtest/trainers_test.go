package systemtest

import (
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/rollmill/rollmill/stages/backends/customizer/customizertest"
	"github.com/rollmill/rollmill/stages/backends/openai/openaitest"
)

// serveCustomizer starts a test server of NeMo Customizer and puts its
// addresses into $ENTITY and $DATASTORE, its configuration into $CONFIGURATION
// and its keys into the environment:
//
//	customizer
func serveCustomizer(ts *testscript.TestScript, neg bool, _ []string) {
	if neg {
		ts.Fatalf("unsupported: ! customizer")
	}
	server := customizertest.New(customizertest.Faults{})
	ts.Defer(server.Close)
	for name, value := range map[string]string{"ENTITY": server.URL, "DATASTORE": server.Datastore.URL, "CONFIGURATION": customizertest.Config,
		"NEMO_API_KEY": customizertest.Key, "ROLLMILL_API_KEY": customizertest.Key, "NEMO_DATASTORE_TOKEN": customizertest.Token} {
		ts.Setenv(name, value)
	}
}

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
