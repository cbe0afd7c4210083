package formats

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
)

// FunnelStep is one step of curate's funnel: what it refused, and what was left
// after it.
type FunnelStep struct {
	Rule         string `json:"rule"`
	Groups       int64  `json:"groups"`       // that it ended: nothing of them was left
	Trajectories int64  `json:"trajectories"` // that it refused

	GroupsLeft       int64 `json:"groups_left"`
	TrajectoriesLeft int64 `json:"trajectories_left"`
}

const (
	funnelPrefix = "funnel."
	funnelSuffix = ".trajectories"
)

// FunnelGroups is the manifest's fact that counts the groups a rule ended.
func FunnelGroups(rule string) string { return funnelPrefix + rule + ".groups" }

// FunnelTrajectories is the fact that counts the trajectories it refused.
func FunnelTrajectories(rule string) string { return funnelPrefix + rule + funnelSuffix }

// Funnel is the funnel of a curated dataset, given what came in and its
// manifest's facts: first what failed and what has no reward, then the rules
// in the order they ran, those too that refused nothing. All groups' rules run
// before all members' rules, and a rule may do both, so that what is left after
// a step is a count, not what was left at some time.
func Funnel(order []string, groups, trajectories int64, facts map[string]float64) []FunnelStep {
	var steps []FunnelStep
	for _, rule := range funnelRules(order, facts) {
		s := FunnelStep{Rule: rule, Groups: int64(facts[FunnelGroups(rule)]), Trajectories: int64(facts[FunnelTrajectories(rule)])}
		groups, trajectories = groups-s.Groups, trajectories-s.Trajectories
		s.GroupsLeft, s.TrajectoriesLeft = groups, trajectories
		steps = append(steps, s)
	}
	return steps
}

// funnelRules is the rules of a funnel: those in order, and any other that the
// facts know.
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

// WriteFunnel writes a funnel as a table.
func WriteFunnel(w io.Writer, steps []FunnelStep) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "rule\ttrajectories refused\tleft\tgroups ended\tleft\t")
	for _, s := range steps {
		fmt.Fprintf(t, "%s\t%d\t%d\t%d\t%d\t\n", s.Rule, s.Trajectories, s.TrajectoriesLeft, s.Groups, s.GroupsLeft)
	}
	return t.Flush()
}
