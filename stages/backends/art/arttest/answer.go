package arttest

import (
	"fmt"
	"net/http"
	"strings"
)

// refuse answers as the server does, or as a proxy before it.
func refuse(w http.ResponseWriter, f Faults) {
	if f.Proxy {
		http.Error(w, "refused by the proxy", f.TrainStatus)
		return
	}
	detail(w, f.TrainStatus, "refused")
}

// answer streams the metric lines. The checkpoint is saved after the last
// line and before the end of the answer.
func (s *Server) answer(w http.ResponseWriter, b *Batch, trainable, sound bool, f Faults) {
	const steps = 3                  // gradient steps of a batch
	w.Header()["Content-Type"] = nil // the handler sets none
	broken := func() {
		if f.TrainsOn > 0 {
			s.save(b, 1, f)
		} else {
			s.keep(b, false, 0)
		}
		w.(http.Flusher).Flush() // and with it the status, 200
		panic(http.ErrAbortHandler)
	}
	switch {
	case !sound:
		broken()
	case !trainable:
		advance := int64(1)
		if f.StayUntrained {
			advance = 0
		}
		if d, _ := s.get(); d == Frontend {
			fmt.Fprintln(w, `{"data/step_num_groups_trainable": 0.0, "data/step_trainer_tokens": 0.0, "data/step_num_gradient_steps": 0.0}`)
		}
		s.keep(b, false, advance)
		return
	case f.CloseBefore:
		s.save(b, 1, f)
		panic(http.ErrAbortHandler)
	}
	for i := range steps - f.LinesMissing {
		if f.CloseAfter != nil && i == *f.CloseAfter {
			broken()
		}
		fmt.Fprintf(w, "%s\n", line(i, steps, f))
		w.(http.Flusher).Flush()
	}
	if f.CloseUnsaved {
		broken()
	}
	advance := int64(1)
	switch {
	case f.StepStays:
		advance = 0
	case f.StepJumps:
		advance = 2
	}
	s.save(b, advance, f)
	if f.CloseSaved {
		panic(http.ErrAbortHandler)
	}
}

func line(i, steps int, f Faults) string {
	loss, key, more := "0.031", "num_gradient_steps", ""
	if f.NaN && i == 1 {
		loss = "NaN"
	}
	if f.StepsKey != "" {
		key = f.StepsKey
	}
	if f.LongLine {
		more = `,"note":"` + strings.Repeat("NaN ", 50_000) + `"`
	}
	return fmt.Sprintf(`{"loss": %s, "grad_norm": 0.42, "learning_rate": 5e-06, "policy_loss": -0.002, %q: %d%s}`, loss, key,
		steps, more)
}
