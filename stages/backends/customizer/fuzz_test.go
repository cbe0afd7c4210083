package customizer_test

import (
	"testing"
	"time"

	"github.com/rollmill/rollmill/stages/backends"
	"github.com/rollmill/rollmill/stages/backends/backendtest"
	"github.com/rollmill/rollmill/stages/backends/customizer"
	"github.com/rollmill/rollmill/stages/backends/customizer/customizertest"
)

func FuzzService(f *testing.F) {
	const (
		job     = `{"id":"cust-1","status":"completed","output_model":"acme/m@cust-1","custom_fields":{"rollmill":"token-1"}}`
		configs = `{"data":[{"name":"` + customizertest.Config +
			`","target":"meta/m","training_options":[{"training_type":"dpo","finetuning_type":"all_weights","micro_batch_size":1,"data_parallel_size":2}],"max_seq_length":4096}],"pagination":{"page":1,"total_pages":1}}`
	)
	backendtest.FuzzAnswers(f, func() backends.Trainer {
		tr, err := customizer.New(customizer.Config{EntityURL: "http://entity.test", DatastoreURL: "http://store.test", Namespace: "acme",
			Config: customizertest.Config, Settle: time.Nanosecond})
		if err != nil {
			f.Fatal(err)
		}
		return tr
	}, configs, job, configs+"\x00{}\x00{}\x00"+`{"data":[`+job+`]}`, `{"data":[`+job+`],"pagination":{"page":1,"total_pages":9}}`,
		`{"status":"running","steps_completed":3,"percentage_done":null,"metrics":{"metrics":{"train_loss":[{"step":1,"value":0.5}]}},"status_logs":[{"updated_at":"x","message":"NotEnoughResources","detail":null}]}`,
		`{"status":"completed"}`+"\x00"+job, `{"detail":"no"}`, `{"detail":[{"msg":"no"}]}`, "<html>", "null", "", "[[[")
}
