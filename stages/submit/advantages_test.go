package submit_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats/foreign/exporters"
	"github.com/rollmill/rollmill/formats/training"
	"github.com/rollmill/rollmill/stages/backends"
	"github.com/rollmill/rollmill/stages/backends/art/arttest"
	"github.com/rollmill/rollmill/stages/backends/backendtest"
	"github.com/rollmill/rollmill/stages/backends/command"
	"github.com/rollmill/rollmill/stages/submit"
	"github.com/rollmill/rollmill/storage/fault"
)

// TestAdvantagesOfMessagesAreRefused: ART has no place for them. What is sent without
// them is what a batch without them is, and another submission.
func TestAdvantagesOfMessagesAreRefused(t *testing.T) {
	server, place := place(t, arttest.Faults{})
	rows := backendtest.Group(0)
	rows[1].Advantages = []training.MessageAdvantage{{Message: 1, Value: 0.25}}
	o := options(t, place)
	o.In.URI = curated(t, t.TempDir()+"/steps", rows)
	for _, dry := range []bool{true, false} {
		o.DryRun = dry
		result, err := submit.Run(t.Context(), o)
		if !errors.Is(err, fault.ErrInvalid) || fault.HintOf(err) == "" || !strings.Contains(fault.HintOf(err), "--advantages trajectory") ||
			!strings.Contains(err.Error(), "art has no place for advantages of single messages") || result.Failures[exporters.MessageCredit] != 1 {
			t.Errorf("%v %+v", err, result.Failures)
		}
	}
	if len(server.Batches()) != 0 {
		t.Error("something was sent")
	}
	o.Advantages = exporters.OfTrajectory
	apart := completes(t, o)
	plain := options(t, place)
	plain.In.URI, plain.Out = curated(t, t.TempDir()+"/plain", backendtest.Group(0)), t.TempDir()
	plain.Receipt, plain.Ledger = bucket(t, plain.Out), bucket(t, t.TempDir())
	completes(t, plain)
	if all := server.Batches(); len(all) != 2 || !bytes.Equal(all[0].Raw, all[1].Raw) {
		t.Errorf("%d batches, and they are not equal", len(all))
	}
	o.DryRun, o.Advantages = true, exporters.OfMessages
	messages, _ := submit.Run(t.Context(), o)
	o.Advantages = ""
	none, _ := submit.Run(t.Context(), o)
	if messages.Identity != none.Identity || apart.Identity == none.Identity {
		t.Errorf("the keys are %s of messages, %s of none, %s of the trajectory", messages.Identity, none.Identity, apart.Identity)
	}
}

// TestAdvantagesOfAProgram: it reads the dataset itself.
func TestAdvantagesOfAProgram(t *testing.T) {
	program, err := command.New(command.Config{Words: []string{"true"}}, backends.Place{})
	o := upload(t, curated(t, t.TempDir()+"/curate", backendtest.Group(0)), program, err)
	o.Advantages = exporters.OfTrajectory
	if e := kind(t, o, fault.Usage); !strings.Contains(e.Error(), "--advantages cannot change") {
		t.Error(e)
	}
}
