package run

import "testing"

func TestLayout(t *testing.T) {
	disk, bucket := Layout{"runs/demo"}, Layout{"s3://b/demo?region=x"}
	for _, c := range []struct{ got, want string }{
		{disk.Policy(), "runs/demo/policy"},
		{disk.Sampled(0), "runs/demo/policy"},
		{disk.Sampled(3), "runs/demo/epoch-2/submit"},
		{disk.Input(2, "rollout", false), ""},
		{disk.Input(2, "score", false), "runs/demo/epoch-2/rollout"},
		{disk.Input(2, "score", true), "runs/demo/epoch-2/validation/rollout"},
		{disk.Input(2, "submit", false), "runs/demo/epoch-2/curate"},
		{bucket.Stage(1, "group"), "s3://b/demo/epoch-1/group?region=x"},
		{bucket.Validation(1, "score"), "s3://b/demo/epoch-1/validation/score?region=x"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}
