package harbor

import (
	"bytes"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/foreign/value"
	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/storage/fault"
)

// Importer reads the folders of Harbor's jobs: each trial is a row, of the example that its task is.
//
// The record is a trial's result.json, with the files beside it: agent/trajectory.json in ATIF, the documents that
// continue it, and the other agent/trajectory.*.json, which are of sub-agents and become roots of their own. Token ids
// are in the steps' metrics, or in the result's rollout_details; where both have some, they must agree. The rewards by
// name are those of the result, with which verifier/reward.json or reward.txt must agree.
//
// A trial with an exception is a failed row, unless the agent reached a limit (its time, its context) and the verifier
// gave a reward that counts: that row is truncated. A trial without a trajectory is a failed row. A trial that has not
// ended, or that has several steps, is refused.
var Importer = importers.Format{
	Name:       "harbor",
	Help:       "folders of Harbor's jobs, a trial a row: ATIF 1.0 to 1.8 with rewards, exceptions and artifacts",
	Spec:       "harbor-framework/harbor: src/harbor/models/trial/{paths,result}.py and docs/rfcs/0001-trajectory-format.md",
	Extensions: []string{".json"},
	Skip:       skip,
	Companions: resultFile + " agent/trajectory.json agent/trajectory.*.json " + rewardJSON + " " + rewardText + " " + artifactsDir + "**",
	Records:    records,
}.ParsedBy(parse)

// Files of a trial.
const (
	resultFile   = "result.json"
	configFile   = "config.json"
	rewardJSON   = "verifier/reward.json"
	rewardText   = "verifier/reward.txt"
	artifactsDir = "artifacts/"
	trajectory   = "trajectory.json"
)

// inTrial finds files that programs left in a trial's folder, whose name has "__".
var inTrial = regexp.MustCompile(`(__[^/]*/|^)(agent|user-agent|verifier|artifacts|steps)/([^_]|_[^_])*$`)

func skip(name string) bool {
	base := path.Base(name)
	return base != resultFile && base != configFile || inTrial.MatchString(name)
}

// records makes a record of a trial: {"result", "trajectories" by name, "reward_json", "reward_text", "artifacts"}, or its
// config.json alone while it has no result. The files of the job itself give none.
func records(f importers.File, yield func(importers.Record) bool) error {
	data, err := importers.ReadDocument(f)
	if err != nil {
		return err
	}
	r := importers.Record{Data: data, Options: f.Options}
	config := path.Base(f.Name) == configFile
	if config && slices.ContainsFunc(f.Companions, func(c importers.Companion) bool { return c.Name == resultFile }) {
		return nil // the trial has ended
	}
	text, bad := value.Check(data)
	if bad != nil { // conversion says what is wrong
		yield(r)
		return nil
	}
	switch o := jsontext.ParseObject(text); {
	case o.Has("job_name") || o.Has("n_total_trials"):
		return nil
	case !config && o.Has("trial_name"):
		if r.Data, err = trialOf(f, text); err != nil {
			return err
		}
	}
	yield(r)
	return nil
}

// trialOf returns the record of a trial that has a result.
func trialOf(f importers.File, result []byte) ([]byte, error) {
	var trajectories jsontext.Object
	kept, out := Kept{Left: MaxKeptBytes}, jsontext.Object{{Key: "result", Raw: result}}
	for _, c := range f.Companions {
		var err error
		var data []byte
		switch name, artifact := strings.CutPrefix(c.Name, artifactsDir); {
		case c.Name == resultFile || name == "manifest.json" && artifact:
		case artifact:
			var size int64
			if data, size, err = c.Head(MaxArtifactBytes); err == nil {
				err = kept.Add("/"+name, size, bytes.NewReader(data))
			}
		case c.Name == rewardText:
			data, err = c.Read()
			out.Set("reward_text", importers.Quote(strings.ToValidUTF8(strings.TrimSpace(string(data)), "\uFFFD")))
		default:
			if data, err = c.Read(); err == nil {
				data, err = value.Check(data)
			}
			if c.Name == rewardJSON {
				out.Set("reward_json", data)
			} else {
				trajectories.Set(strings.TrimPrefix(c.Name, "agent/"), data)
			}
		}
		if err != nil {
			return nil, fault.Invalid(f.Name, "", err, "reading %q beside it", c.Name)
		}
	}
	artifacts, err := jsontext.Append(nil, kept.List)
	out.Set("trajectories", trajectories.Bytes())
	out.Set("artifacts", artifacts)
	return out.Bytes(), err
}
