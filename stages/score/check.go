package score

import (
	"context"
	"errors"
	"fmt"

	"github.com/rollmill/rollmill/formats/plural"
)

// TryRewards starts every reward that needs something outside this process, for
// `rollmill check`, and returns a sentence with their number.
func (o Options) TryRewards(ctx context.Context) (found string, err error) {
	rewards, err := makeRewards(o, nil, false)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, rewards.close()) }()
	n := 0
	for _, c := range rewards {
		if c.Start == nil {
			continue
		}
		n++
		if err := c.Start(ctx); err != nil {
			return "", usage("run the program by itself, and check its arguments in score.reward",
				"reward %q cannot be computed: %w", c.Name, err)
		}
	}
	return fmt.Sprintf("%s; %s started", plural.Of(len(rewards), "reward"), plural.Of(n, "program")), nil
}
