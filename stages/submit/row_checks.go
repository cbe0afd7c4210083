package submit

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/validate"
	"github.com/rollmill/rollmill/storage/fault"
)

// look passes a group's rows to the doctor, which looks for faults that affect every
// trainer. What only some trainers cannot use, such as rows without logprobs, is
// refused by the trainer's own preflight.
func look(d *validate.Doctor, first int64, rows []formats.Trajectory) {
	for i := range rows {
		r := validate.WideRow(first+int64(i), &rows[i])
		d.Row(&r)
	}
}

// diagnose refuses a batch whose rows have proven errors, except those accepted
// by name, and returns the other findings as notes.
func (s *session) diagnose(d *validate.Doctor) (notes []string, err error) {
	var names, errs []string
	remedy := "make the rows again"
	accepted, err := s.accepted()
	if err != nil {
		return nil, err
	}
	for _, f := range append(d.Found(s.data.URI()), s.inTables...) {
		text := fmt.Sprintf("%s (%s): %d of %d %s", f.Check, f.Basis, f.Count, f.Of, f.What)
		secrets := f.Check == validate.Keys && s.keepsSecrets()
		if !secrets && (!f.Refuses() || accepted[f.Check]) {
			notes = append(notes, text)
			continue
		}
		if len(f.First) > 0 {
			text += "; the first: " + f.First[0].String()
		}
		name := "--accept-finding " + f.Check
		if secrets {
			name, remedy = "--allow-secrets", "remove keys with --redact FILE (its rules: `detectors: [keys]`)"
		}
		errs = append(errs, text)
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if errs == nil {
		return notes, nil
	}
	return notes, fault.Invalid(s.data.URI(), remedy+", or send the rows anyway: "+strings.Join(names, " "), nil,
		"its rows are not sound: %s", strings.Join(errs, "; "))
}

// accepted returns the present names of the checks whose findings do not refuse the
// batch. It refuses names that are no check of rows.
func (o *Options) accepted() (validate.Accepted, error) {
	names, err := validate.Accept(o.AcceptFindings)
	return names, kinded(err)
}
