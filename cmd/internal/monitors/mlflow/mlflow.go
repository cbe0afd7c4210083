// Package mlflow sends the figures of a run to a tracking server of MLflow, when a
// stage has ended. The step of a metric is the epoch.
//
// The MLflow run is the one in MLFLOW_RUN_ID, else the one with the name of our run in
// its tag rollmill.run, in the experiment MLFLOW_EXPERIMENT_NAME. It is made if need
// be. So the five commands and train add to one run, from any machine. A stage that is
// up to date is sent only if the run does not have its step yet.
package mlflow

import (
	"cmp"
	"context"
	"errors"
	"regexp"

	"github.com/rollmill/rollmill/cmd/internal/monitors"
	"github.com/rollmill/rollmill/stages/backends/mlflow"
	"github.com/rollmill/rollmill/stages/plugin"
)

// Settings are the settings of the monitor. The variables are those of MLflow's own
// client.
type Settings struct {
	URI               string
	experiment, runID string
	login             mlflow.Login
}

// Declare declares the settings.
func (s *Settings) Declare(d *plugin.Declarer) {
	d.String(&s.URI, "mlflow",
		"send metrics, with the epoch as the step, to the MLflow tracking server at this `URI`; the experiment is "+
			"MLFLOW_EXPERIMENT_NAME").Shown("none")
	d.Variable(&s.experiment, "MLFLOW_EXPERIMENT_NAME")
	d.Variable(&s.runID, "MLFLOW_RUN_ID")
	d.Variable(&s.login.User, "MLFLOW_TRACKING_USERNAME")
	d.SecretVariable(&s.login.Password, "MLFLOW_TRACKING_PASSWORD")
	d.SecretVariable(&s.login.Token, "MLFLOW_TRACKING_TOKEN")
}

// Open returns the monitor, or nil without a server.
func (s *Settings) Open(monitors.Job) (monitors.Monitor, error) {
	if s.URI == "" {
		return nil, nil
	}
	client, err := mlflow.New(s.URI, s.login)
	if err != nil {
		return nil, plugin.Badf("start one with: mlflow server", "--mlflow: %w", err)
	}
	return &server{client: client, experiment: cmp.Or(s.experiment, "Default"), run: s.runID, given: s.runID != ""}, nil
}

type server struct {
	client     *mlflow.Client
	experiment string
	run        string // "" until it is known
	given      bool   // by the user, who ends it
	logged     bool   // something was sent
}

func (s *server) Name() string { return "mlflow" }

// Update sends the metrics of a stage that has ended.
func (s *server) Update(ctx context.Context, g monitors.Figures) error {
	if !g.Whole() {
		return nil
	}
	if err := s.find(ctx, g.Run); err != nil {
		return err
	}
	if g.Report.UpToDate {
		if there, err := s.client.Has(ctx, s.run, key(g.Series()+"/rows"), g.Step()); there || err != nil {
			return err
		}
	}
	var list []mlflow.Metric
	for _, v := range g.Scalars() {
		list = append(list, mlflow.Metric{Key: key(v.Name), Value: v.Value, Time: g.At.UnixMilli(), Step: g.Step()})
	}
	s.logged = true
	return s.client.Log(ctx, s.run, list)
}

// Distribution does nothing: MLflow has no histograms.
func (s *server) Distribution(context.Context, monitors.Figures) error { return nil }

// find finds or makes the MLflow run.
func (s *server) find(ctx context.Context, name string) error {
	if s.run != "" {
		return nil
	}
	if name == "" {
		return errors.New("the command does not say which run it works on: give it --root, --run or MLFLOW_RUN_ID")
	}
	experiment, err := s.client.Experiment(ctx, s.experiment)
	if err == nil {
		s.run, err = s.client.Run(ctx, experiment, name)
	}
	return err
}

var forbidden = regexp.MustCompile(`[^\w\-. /]`)

// key returns a name with the characters that MLflow allows only.
func key(name string) string { return forbidden.ReplaceAllString(name, "_") }

// Close sets the state of the run.
func (s *server) Close(ctx context.Context, e monitors.End) error {
	status := mlflow.Finished
	switch {
	case s.given || !s.logged:
		return nil
	case e.ExitCode == 130 || e.ExitCode == 143: // a signal ended the command
		status = mlflow.Killed
	case e.ExitCode != 0:
		status = mlflow.Failed
	}
	return s.client.SetStatus(ctx, s.run, status, e.At)
}
