package submit_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/rollmill/rollmill/formats/receipts"
	"github.com/rollmill/rollmill/stages/backends"
	"github.com/rollmill/rollmill/stages/backends/art/arttest"
	"github.com/rollmill/rollmill/stages/submit"
	"github.com/rollmill/rollmill/storage/fault"
)

func TestOptionsAreCheckedFirst(t *testing.T) {
	_, place := place(t, arttest.Faults{})
	for name, spoil := range map[string]func(*submit.Options){
		"no input":         func(o *submit.Options) { o.In.URI = "" },
		"no backend":       func(o *submit.Options) { o.Trainer = nil },
		"no place":         func(o *submit.Options) { o.Receipt = nil },
		"no ledger":        func(o *submit.Options) { o.Ledger = nil },
		"exclude":          func(o *submit.Options) { o.Resubmit, o.AssumeTrained = true, true },
		"must be at least": func(o *submit.Options) { o.LeaseTTL = time.Millisecond },
		`no check "none"`:  func(o *submit.Options) { o.AcceptFindings = []string{"keys", "none"} },
		`no check "leak"`:  func(o *submit.Options) { o.AcceptFindings = []string{"leak"} },
		"only while":       func(o *submit.Options) { o.Trainer, o.Wait = driven{o.Trainer}, false },
	} {
		o := options(t, place)
		spoil(&o)
		if e := kind(t, o, fault.Usage); !strings.Contains(e.Error(), name) {
			t.Errorf("%s: %v", name, e)
		}
	}
}

// driven is a trainer that trains only while submit runs.
type driven struct{ backends.Trainer }

func (d driven) Describe() backends.Description {
	about := d.Trainer.Describe()
	about.Attended = true
	return about
}

func TestKeysAreStable(t *testing.T) {
	target := receipts.Target{Backend: "art", Address: "http://a:1", Model: "p/m"}
	settings := backends.Identity{"learning-rate": "1", "beta": "2"}
	key := submit.Key("3-00ff", settings, target)
	if key != submit.Key("3-00ff", backends.Identity{"beta": "2", "learning-rate": "1"}, target) || len(key) != 32 {
		t.Error(key)
	}
	other := target
	other.Model = "p/n"
	if key == submit.Key("3-00fe", settings, target) || key == submit.Key("3-00ff", settings, other) || key == submit.Key("3-00ff", nil, target) {
		t.Error("two batches have one key")
	}
	if _, err := json.Marshal(target); err != nil {
		t.Error(err)
	}
}
