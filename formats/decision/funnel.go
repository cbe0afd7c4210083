package decision

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
)

// FunnelStep is one step of curate's funnel: what it refused, and what was left after it.
type FunnelStep struct {
	Rule         string `json:"rule"`
	Groups       int64  `json:"groups"`       // that it removed completely
	Trajectories int64  `json:"trajectories"` // that it refused

	GroupsLeft       int64 `json:"groups_left"`
	TrajectoriesLeft int64 `json:"trajectories_left"`
}

const (
	funnelPrefix = "funnel."
	funnelSuffix = ".trajectories"
)

// OfGroups returns the name of the manifest's fact that counts the groups a
// rule removed completely.
func OfGroups(rule string) string { return funnelPrefix + rule + ".groups" }

// OfTrajectories returns the name of the fact that counts the trajectories it refused.
func OfTrajectories(rule string) string { return funnelPrefix + rule + funnelSuffix }

// Funnel returns the funnel of a curated dataset, from its input counts and its
// manifest's facts: first failed trajectories and those without reward, then
// the rules in the order they ran, including those that refused nothing. All
// rules about groups run before all rules about members, and a rule may be
// both, so the number left after a step is a count and not the state at some
// time.
func Funnel(order []string, groups, trajectories int64, facts map[string]float64) []FunnelStep {
	var steps []FunnelStep
	for _, rule := range funnelRules(order, facts) {
		s := FunnelStep{Rule: rule, Groups: int64(facts[OfGroups(rule)]),
			Trajectories: int64(facts[OfTrajectories(rule)])}
		groups, trajectories = groups-s.Groups, trajectories-s.Trajectories
		s.GroupsLeft, s.TrajectoriesLeft = groups, trajectories
		steps = append(steps, s)
	}
	return steps
}

// funnelRules returns the rules of a funnel: those in order, and any other that the facts have.
func funnelRules(order []string, facts map[string]float64) []string {
	names := append([]string{DropFailed, DropUnscored}, order...)
	var others []string
	for fact := range facts {
		rule, ok := strings.CutSuffix(fact, funnelSuffix)
		if rule, here := strings.CutPrefix(rule, funnelPrefix); ok && here && !slices.Contains(names, rule) {
			others = append(others, rule)
		}
	}
	slices.Sort(others)
	return append(names, others...)
}

// WriteFunnel writes the steps of a funnel that refused something as a table, and
// nothing if there are none.
func WriteFunnel(w io.Writer, steps []FunnelStep) error {
	steps = slices.DeleteFunc(slices.Clone(steps), func(s FunnelStep) bool { return s.Trajectories == 0 && s.Groups == 0 })
	if len(steps) == 0 {
		return nil
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "rule\ttrajectories refused\tleft\tgroups ended\tleft\t")
	for _, s := range steps {
		fmt.Fprintf(t, "%s\t%d\t%d\t%d\t%d\t\n", s.Rule, s.Trajectories, s.TrajectoriesLeft, s.Groups, s.GroupsLeft)
	}
	return t.Flush()
}
