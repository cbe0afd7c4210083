package harbor

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/foreign/foreigntest"
	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/outcomes"
)

// ofTerminus is a trial of Harbor's own agent, shortened.
const ofTerminus = "testdata/terminus/hello__uBGzUuD/"

func TestJobs(t *testing.T) {
	foreigntest.Importer(t, Importer, importers.Options{}, ofTerminus+resultFile)
}

func FuzzResult(f *testing.F) {
	foreigntest.Fuzz(f, Importer, importers.Options{}, resultFile, foreigntest.Seeds(f, 20000, ofTerminus+resultFile, ofTerminus+configFile)...)
}

// FuzzTrajectory reads damaged trajectories of a trial whose result is whole.
func FuzzTrajectory(f *testing.F) {
	for _, seed := range foreigntest.Seeds(f, 20000, ofTerminus+"agent/trajectory.json") {
		f.Add(seed)
	}
	result, err := os.ReadFile(ofTerminus + resultFile)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for p, err := range foreigntest.All(Importer, file(map[string]string{"agent/trajectory.json": string(data)}, string(result))) {
			if err == nil && p.Err == nil && len(p.Items) != 1 {
				t.Errorf("%d rows", len(p.Items))
			}
		}
	})
}

// file is a result.json with files beside it.
func file(beside map[string]string, result string) importers.File {
	out := importers.File{Name: resultFile, R: strings.NewReader(result), Size: int64(len(result)), Options: &importers.Options{}}
	for _, name := range sortedNames(beside) {
		out.Companions = append(out.Companions, importers.Companion{Name: name, Read: func() ([]byte, error) { return []byte(beside[name]), nil },
			Head: func(limit int64) ([]byte, int64, error) {
				data := []byte(beside[name])
				return data[:min(len(data), int(limit))], int64(len(data)), nil
			}})
	}
	return out
}

func sortedNames(m map[string]string) (out []string) {
	docs := map[string]struct{}{}
	for name := range m {
		docs[name] = struct{}{}
	}
	for _, name := range []string{"agent/trajectory.json", "agent/trajectory.cont-1.json", "agent/trajectory.summary.json", "artifacts/app/a.txt", "artifacts/b/x",
		"artifacts/manifest.json", rewardJSON, rewardText, resultFile} {
		if _, there := docs[name]; there {
			out = append(out, name)
		}
	}
	return out
}

type object = map[string]any

// trial is the sample, changed: the result, and files by name; nil takes one away.
func trial(t *testing.T, change func(result object, files map[string]any)) (formats.Trajectory, error) {
	t.Helper()
	result, files, texts := object{}, map[string]any{}, map[string]string{}
	read := func(name string, to any) {
		data, err := os.ReadFile(filepath.Join(ofTerminus, name))
		if err == nil {
			err = json.Unmarshal(data, to)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	read(resultFile, &result)
	for _, name := range []string{"agent/trajectory.json", rewardJSON, rewardText} {
		var v any
		read(name, &v)
		files[name] = v
	}
	change(result, files)
	for name, v := range files {
		if text, is := v.(string); is {
			texts[name] = text
		} else if v != nil {
			data, _ := json.Marshal(v)
			texts[name] = string(data)
		}
	}
	data, _ := json.Marshal(result)
	for p, err := range foreigntest.All(Importer, file(texts, string(data))) {
		if err = cmp.Or(err, p.Err); err != nil {
			return formats.Trajectory{}, err
		}
		for _, l := range p.Losses {
			return formats.Trajectory{}, fmt.Errorf("lost: %s", l)
		}
		return p.Items[0].Row, nil
	}
	t.Fatal("no record")
	return formats.Trajectory{}, nil
}

func steps(files map[string]any, name string) []any { return files[name].(object)["steps"].([]any) }

// clone is a copy of a JSON value.
func clone(v any) (out object) {
	data, _ := json.Marshal(v)
	_ = json.Unmarshal(data, &out)
	return out
}

const main = "agent/trajectory.json"

// withoutIDs takes the token ids out of the steps' metrics.
func withoutIDs(files map[string]any) {
	for _, s := range steps(files, main) {
		if m, ok := s.(object)["metrics"].(object); ok {
			for _, name := range tokenMembers {
				delete(m, name)
			}
		}
	}
}

// TestBothSourcesOfTokens: ids of rollout_details give the rows of ids in metrics, and what contradicts itself is refused.
func TestBothSourcesOfTokens(t *testing.T) {
	whole, err := trial(t, func(object, map[string]any) {})
	if err != nil {
		t.Fatal(err)
	}
	second, err := trial(t, func(_ object, files map[string]any) { withoutIDs(files) })
	if d := gocmp.Diff(whole.Messages, second.Messages); d != "" || err != nil {
		t.Error(err, d)
	}
	detail := func(result object) object {
		return result["agent_result"].(object)["rollout_details"].([]any)[0].(object)
	}
	for name, c := range map[string]struct {
		change func(result object, files map[string]any)
		want   string
	}{
		"other ids":      {func(r object, _ map[string]any) { detail(r)["completion_token_ids"].([]any)[0].([]any)[0] = 9.0 }, "of turn 0 in rollout_details"},
		"other logprobs": {func(r object, _ map[string]any) { detail(r)["logprobs"].([]any)[1].([]any)[0] = -9.0 }, "of turn 1 in rollout_details"},
		"other prompt":   {func(r object, _ map[string]any) { detail(r)["prompt_token_ids"].([]any)[1].([]any)[0] = 9.0 }, "of turn 1 in rollout_details"},
		"one turn less": {func(r object, _ map[string]any) {
			for _, name := range tokenMembers {
				detail(r)[name] = detail(r)[name].([]any)[:1]
			}
		}, "1 steps have token ids"},
		"lists of two lengths": {func(r object, _ map[string]any) { detail(r)["logprobs"] = detail(r)["logprobs"].([]any)[:1] }, "rollout_details has 1 turns in logprobs"},
		"more calls than turns": {func(r object, files map[string]any) {
			withoutIDs(files)
			d := files[main].(object)
			d["steps"] = append(d["steps"].([]any), object{"step_id": 4, "source": "agent", "message": "more"})
		}, "2 turns of the agent and 0 of others, and the trajectory 3 calls"},
		"ids are no numbers": {func(r object, _ map[string]any) { detail(r)["logprobs"].([]any)[0] = []any{"x"} }, "rollout_details"},
	} {
		if _, err := trial(t, c.change); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestTrials: what becomes of rewards, exceptions and files.
func TestTrials(t *testing.T) {
	exception := func(kind string) object {
		return object{"exception_type": kind, "exception_message": "so it was", "exception_traceback": "", "occurred_at": "2026-11-28T20:56:38Z"}
	}
	continued := func(_ object, files map[string]any) {
		doc := clone(files[main])
		doc["steps"].([]any)[0].(object)["message"] = "Go on."
		files[main].(object)["continued_trajectory_ref"] = "trajectory.cont-1.json"
		files["agent/trajectory.cont-1.json"], files["agent/trajectory.summary.json"] = doc, clone(doc)
	}
	for name, c := range map[string]struct {
		change              func(result object, files map[string]any)
		status, class, stop string
		reward              *float64
		messages, roots     int
		want                string // of the error, or of the row's
	}{
		"as it is":      {func(object, map[string]any) {}, outcomes.StatusOK, "", outcomes.StopDone, new(0.0), 5, 1, ""},
		"its own error": {func(r object, _ map[string]any) { r["exception_info"] = exception("ValueError") }, outcomes.StatusFailed, outcomes.FailInternal, outcomes.StopError, nil, 5, 1, "ValueError: so it was"},
		"out of time":   {func(r object, _ map[string]any) { r["exception_info"] = exception("AgentTimeoutError") }, outcomes.StatusTruncated, "", outcomes.StopTimeout, new(0.0), 5, 1, ""},
		"out of time, no vote": {func(r object, _ map[string]any) {
			r["exception_info"], r["reward_valid"] = exception("AgentTimeoutError"), false
		}, outcomes.StatusFailed, outcomes.FailTimeout, outcomes.StopTimeout, nil, 5, 1, "AgentTimeoutError"},
		"no reward": {func(r object, f map[string]any) {
			r["exception_info"], r["verifier_result"] = exception("RewardFileNotFoundError"), nil
			delete(f, rewardJSON)
			delete(f, rewardText)
		}, outcomes.StatusFailed, outcomes.FailVerifier, outcomes.StopError, nil, 5, 1, "RewardFileNotFoundError"},
		"no trajectory": {func(r object, f map[string]any) {
			r["exception_info"], r["agent_result"] = exception("EnvironmentStartTimeoutError"), nil
			delete(f, main)
		}, outcomes.StatusFailed, outcomes.FailStart, outcomes.StopError, nil, 0, 0, "EnvironmentStartTimeoutError: so it was"},
		"neither trajectory nor exception": {func(r object, f map[string]any) { delete(f, main) }, outcomes.StatusFailed, outcomes.FailNoCalls, outcomes.StopError, nil, 0, 0, "left no trajectory"},
		"the file's reward":                {func(r object, f map[string]any) { r["verifier_result"] = nil }, outcomes.StatusOK, "", outcomes.StopDone, new(0.0), 5, 1, ""},
		"the text's reward": {func(r object, f map[string]any) {
			r["verifier_result"] = nil
			delete(f, rewardJSON)
			f[rewardText] = "0.5\n"
		}, outcomes.StatusOK, "", outcomes.StopDone, new(0.5), 5, 1, ""},
		"another reward": {func(r object, f map[string]any) { f[rewardJSON].(object)["built"] = 0 }, "", "", "", nil, 0, 0, `the reward "built" is 1 in result.json, and 0 in the file of the verifier`},
		"under way":      {func(r object, f map[string]any) { r["finished_at"] = nil }, "", "", "", nil, 0, 0, "hello__uBGzUuD has not ended"},
		"several steps":  {func(r object, f map[string]any) { r["step_results"] = []any{} }, "", "", "", nil, 0, 0, "several steps"},
		"continued":      {continued, "", "", "", nil, 0, 0, "4 steps have token ids"},
		"continued nowhere": {func(r object, f map[string]any) {
			f[main].(object)["continued_trajectory_ref"] = "trajectory.cont-1.json"
		}, "", "", "", nil, 0, 0, "goes on in agent/trajectory.cont-1.json, which is not there"},
		"goes on in agent/trajectory.json, which is not there, or comes before": {func(r object, f map[string]any) { f[main].(object)["continued_trajectory_ref"] = "trajectory.json" }, "", "", "", nil, 0, 0, "goes on in agent/trajectory.json, which is not there, or comes before"},
		"another's continuation": {func(r object, f map[string]any) {
			continued(r, f)
			delete(f[main].(object), "continued_trajectory_ref")
			delete(r["agent_result"].(object), "rollout_details")
		}, "", "", "", nil, 0, 0, "no trajectory goes on in agent/trajectory.cont-1.json"},
		"continued, with a sub-agent": {func(r object, f map[string]any) {
			continued(r, f)
			delete(r["agent_result"].(object), "rollout_details")
		}, outcomes.StatusOK, "", outcomes.StopDone, new(0.0), 15, 3, ""},
		"a cut trajectory": {func(r object, f map[string]any) { f[main] = `{"schema_version": "ATIF-v1.8", "steps": [` }, "", "", "", nil, 0, 0, `reading "agent/trajectory.json" beside it`},
	} {
		t.Run(name, func(t *testing.T) {
			row, err := trial(t, c.change)
			if err != nil || c.status == "" {
				if c.status != "" || err == nil || !strings.Contains(err.Error(), c.want) {
					t.Fatal(err)
				}
				return
			}
			roots := 0
			for _, m := range row.Messages {
				if m.Parent < 0 {
					roots++
				}
			}
			if row.Status != c.status || row.FailureClass != c.class || row.StopReason != c.stop || gocmp.Diff(row.Reward, c.reward) != "" ||
				len(row.Messages) != c.messages || roots != c.roots || !strings.Contains(row.Error, c.want) || (row.Reward == nil) != (len(row.Rewards) == 0) {
				t.Errorf("%s, %q, %s, reward %v of %v, %d messages, %d roots: %s", row.Status, row.FailureClass, row.StopReason, row.Reward, row.Rewards, len(row.Messages), roots, row.Error)
			}
			if row.ExampleID != "rollmill/hello" || row.TrajectoryID == "" || row.Model != "m" || row.StartedAt == 0 || row.FinishedAt <= row.StartedAt {
				t.Errorf("%+v", row)
			}
		})
	}
}

// TestTrialFiles: artifacts have the paths that they had in the environment, as Harbor mirrors them.
func TestTrialFiles(t *testing.T) {
	row, err := trial(t, func(_ object, files map[string]any) {
		files["artifacts/app/a.txt"], files["artifacts/b/x"] = "text", "\xff\x00"
		files["artifacts/manifest.json"] = []any{object{"source": "/app/a.txt", "destination": "artifacts/app/a.txt"}, object{"source": "/logs/b", "destination": "artifacts/b"}}
	})
	want := []formats.Artifact{{Name: "/app/a.txt", Bytes: 4, Content: "text"}, {Name: "/b/x", Bytes: 2, Content: "data:;base64,/wA="}}
	if d := gocmp.Diff(want, row.Artifacts); d != "" || err != nil {
		t.Error(err, d)
	}
}

// TestFilesOfJobs: of a folder of jobs, results of trials are read, and configurations where there is none.
func TestFilesOfJobs(t *testing.T) {
	for name, want := range map[string]bool{
		"job/hello__a/result.json": false, "hello__a/config.json": false, "result.json": false, "job/result.json": false, "agent/hello__a/result.json": false,
		"job/hello__a/agent/result.json": true, "job/hello__a/artifacts/app/config.json": true, "agent/result.json": true, "verifier/reward.json": true,
		"job/hello__a/lock.json": true, "job/hello__a/agent/trajectory.json": true, "job/hello__a/agent/sessions/config.json": true,
	} {
		if got := Importer.Skip(name); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
	for name, c := range map[string]struct {
		file   string
		beside bool // a result.json
		want   string
	}{
		"the job's configuration": {"testdata/terminus/config.json", false, "nothing"},
		"the job's result":        {"testdata/terminus/result.json", false, "nothing"},
		"a trial that runs":       {ofTerminus + configFile, false, "the trial hello__uBGzUuD has not ended: there is no result.json beside its config.json"},
		"a trial that ended":      {ofTerminus + configFile, true, "nothing"},
		"another file":            {main, false, "it is neither a result nor a configuration of a Harbor trial"},
	} {
		data, err := os.ReadFile(c.file)
		if c.file == main {
			data, err = []byte(`{"a": 1}`), nil
		}
		if err != nil {
			t.Fatal(err)
		}
		f := importers.File{Name: c.file, R: bytes.NewReader(data), Size: int64(len(data)), Options: &importers.Options{}}
		if c.beside {
			f.Companions = []importers.Companion{{Name: resultFile}}
		}
		got := "nothing"
		for p, err := range foreigntest.All(Importer, f) {
			got = fmt.Sprint(cmp.Or(err, p.Err))
		}
		if !strings.Contains(got, c.want) {
			t.Errorf("%s: %s", name, got)
		}
	}
}
