package harbor

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"strconv"
	"strings"

	"github.com/rollmill/rollmill/storage/regular"
)

// The files in which a verifier leaves its rewards: numbers by name, else one number.
const (
	RewardJSON = "reward.json"
	RewardText = "reward.txt"
)

const (
	Total = "reward" // the name of the reward that is the task's own

	maxReward  = 64 << 10 // bytes of such a file
	maxRewards = 100
)

// Rewards reads what the verifier left in a folder. The file is the container's work:
// a link that leaves the folder, a pipe and a large file are refused. No reward, an
// empty file and a number that is not finite are errors, never 0.
func Rewards(folder string) (map[string]float64, error) {
	text, err := read(folder, RewardJSON)
	if err == nil {
		return rewardsJSON(text)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if text, err = read(folder, RewardText); errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("the verifier left neither %s nor %s", RewardJSON, RewardText)
	} else if err != nil {
		return nil, err
	}
	value, err := strconv.ParseFloat(strings.TrimSpace(string(text)), 64)
	if err != nil || math.IsNaN(value) || math.IsInf(value, 0) {
		return nil, fmt.Errorf("%s is not a finite number: %.40q", RewardText, text)
	}
	return map[string]float64{Total: value}, nil
}

func read(folder, name string) ([]byte, error) {
	f, err := regular.OpenIn(folder, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxReward+1))
	switch {
	case err != nil:
	case len(text) > maxReward:
		err = fmt.Errorf("%s has more than %d bytes", name, maxReward)
	case len(strings.TrimSpace(string(text))) == 0:
		err = fmt.Errorf("%s is empty", name)
	}
	return text, err
}

func rewardsJSON(text []byte) (map[string]float64, error) {
	var values map[string]any
	if err := json.Unmarshal(text, &values); err != nil {
		return nil, fmt.Errorf("%s is not an object of numbers by name: %w", RewardJSON, err)
	}
	if len(values) == 0 || len(values) > maxRewards {
		return nil, fmt.Errorf("%s has %d rewards", RewardJSON, len(values))
	}
	out := map[string]float64{}
	for name, value := range values {
		switch v := value.(type) {
		case float64:
			out[name] = v
		case bool: // a number to Python
			out[name] = map[bool]float64{true: 1}[v]
		default:
			return nil, fmt.Errorf("%s: %q is not a number", RewardJSON, name)
		}
	}
	return out, nil
}

// NoRewards removes what the agent may have left where the verifier's rewards go.
func NoRewards(folder string) error {
	root, err := regular.Root(folder)
	if err != nil {
		return err
	}
	defer root.Close()
	return errors.Join(root.RemoveAll(RewardJSON), root.RemoveAll(RewardText))
}
