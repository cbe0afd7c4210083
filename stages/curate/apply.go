package curate

import "github.com/rollmill/rollmill/stages"

// Ruling is what a rule decided about a list of groups.
type Ruling struct {
	Verdicts []Verdict // one for each
	State    any       // for the next epoch; nil for none
}

// Apply applies one rule to a list of groups, as the plan of an epoch would.
func Apply(rule Rule, b Batch, list []Group) (Ruling, error) {
	groups := newGroups(stages.Spill{Memory: maxInMemory})
	defer groups.close()
	for i := range list {
		if err := groups.add(&list[i]); err != nil {
			return Ruling{}, err
		}
	}
	p := &plan{groups: groups, active: []active{{Rule: rule, state: b.State}}, batch: b}
	var out Ruling
	var err error
	groups.by = 1
	if rule.Groups != nil {
		groups.hide = true
		out.State, err = rule.Groups(b, groups)
	} else {
		err = p.each(0, 1)
	}
	if err != nil {
		return Ruling{}, err
	}
	for j, err := range p.verdicts(0, len(list)) {
		if err != nil {
			return Ruling{}, err
		}
		out.Verdicts = append(out.Verdicts, j.Verdict)
	}
	return out, nil
}
