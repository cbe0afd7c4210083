package openai_test

import (
	"testing"
	"time"

	"github.com/rollmill/rollmill/stages/backends"
	"github.com/rollmill/rollmill/stages/backends/backendtest"
	"github.com/rollmill/rollmill/stages/backends/openai"
)

func FuzzService(f *testing.F) {
	const job = `{"id":"ftjob-1","status":"succeeded","training_file":"file-1","fine_tuned_model":"ft:m","trained_tokens":7,"metadata":{"rollmill":"token-1"}}`
	backendtest.FuzzAnswers(f, func() backends.Trainer {
		tr, err := openai.New(openai.Config{BaseURL: "http://service.test/v1", Model: "gpt-test", Settle: time.Nanosecond, Poll: time.Nanosecond})
		if err != nil {
			f.Fatal(err)
		}
		return tr
	}, job, `{"data":[`+job+`],"has_more":false}`, `{"data":[{"id":"x"}],"has_more":true}`, `{"data":[]}`+"\x00"+`{"data":[`+job+`]}`+"\x00"+job,
		`{"data":[{"id":"file-1","filename":"rollmill-token-1-training.jsonl","status":"processed"}]}`+"\x00"+
			`{"data":[{"id":"j","status":"running","training_file":"file-1"}]}`,
		`{"data":[{"step_number":10,"fine_tuned_model_checkpoint":"ft:ck","metrics":{"train_loss":0.5}}]}`,
		`{"id":"j","status":"failed","error":{"message":"no"}}`,
		`{"error":{"message":"no","param":"x"}}`, "<html>", "null", "", "[[[")
}
