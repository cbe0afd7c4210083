package customizer_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats/receipts"
	"github.com/rollmill/rollmill/stages/backends/customizer"
	"github.com/rollmill/rollmill/stages/backends/customizer/customizertest"
)

func deploy(s *customizertest.Server) func(*customizer.Config) {
	return func(c *customizer.Config) {
		c.NIMURL = s.URL + "/v1/"
		c.Deployment = customizer.Deployment{Image: "nvcr.io/nim/meta/llama-3.2-1b-instruct:1.8.3", GPUs: 2, Env: map[string]string{"NIM_LOG": "1"}}
	}
}

func TestTheModelIsDeployed(t *testing.T) {
	for name, f := range map[string]customizertest.Faults{
		"as it should be":                    {},
		"500 that means exists":              {DeploymentExists500: true},
		"not on the first page of a list":    {OtherDeployments: 11},
		"the NIM lists it late":              {LateList: 3},
		"deployed, in another word and case": {DeploymentStates: []string{"Pending", "Deployed"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := customizertest.New(f)
			defer s.Close()
			tr := trainer(t, s, deploy(s))
			out, err := submit(t, tr)
			if err != nil {
				t.Fatal(err)
			}
			end, said := follow(t, tr, out.Job)
			bodies, configs := s.Deployments()
			if len(bodies) != 1 || len(configs) != 1 {
				t.Fatalf("%v, %v", bodies, configs)
			}
			model, _ := configs[0]["model"].(string)
			if end.State != receipts.JobCompleted || end.Policy == nil || end.Policy.Model != model || end.Policy.URL != s.URL+"/v1" ||
				end.Policy.Version != 5 || model == "" {
				t.Errorf("%+v, policy %+v after %q", end, end.Policy, said)
			}
			nim, _ := json.Marshal(configs[0]["nim_deployment"])
			if want := `{"additional_envs":{"NIM_LOG":"1"},"gpu":2,"image_name":"nvcr.io/nim/meta/llama-3.2-1b-instruct","image_tag":"1.8.3"}`; string(nim) != want {
				t.Errorf("%s", nim)
			}
			if f.LateList > 0 && !slices.ContainsFunc(said, func(s string) bool { return strings.Contains(s, "does not list it") }) {
				t.Errorf("%q", said)
			}
		})
	}
}

func TestADeploymentThatFailsWasTrainedAllTheSame(t *testing.T) {
	for _, word := range []string{"failed", "error", "cancelled"} {
		s := customizertest.New(customizertest.Faults{DeploymentStates: []string{"pending", word}})
		tr := trainer(t, s, deploy(s))
		out, _ := submit(t, tr)
		if end, _ := follow(t, tr, out.Job); end.State != receipts.JobCompleted || end.Policy != nil ||
			!strings.Contains(end.Message, "its deployment failed: "+word+": deployment "+word) {
			t.Errorf("%+v", end)
		}
		s.Close()
	}
}

func TestLoRANeedsNoDeployment(t *testing.T) {
	s := customizertest.New(customizertest.Faults{LateList: 2})
	defer s.Close()
	nim := func(c *customizer.Config) { c.NIMURL = s.URL }
	tr := trainer(t, s, lora, nim)
	state, err := tr.Begin(t.Context(), nil)
	if err != nil || state.Policy.Model != customizertest.Model || state.Policy.URL != s.URL+"/v1" {
		t.Errorf("%+v, %v", state.Policy, err)
	}
	out, _ := submit(t, tr)
	end, said := follow(t, tr, out.Job)
	if bodies, _ := s.Deployments(); len(bodies) != 0 || end.Policy == nil || len(said) != 6 {
		t.Errorf("%+v after %q, %v", end, said, bodies)
	}
	full := trainer(t, s, nim)
	if end, _ := follow(t, full, out.Job); end.State != receipts.JobCompleted || end.Policy != nil || !strings.Contains(end.Message, "--deployment-image") {
		t.Errorf("%+v", end)
	}
}
