package view

import (
	"net/http"

	"github.com/rollmill/rollmill/pipelines/view/index"
)

// maxComponents is the number of named rewards that the list shows.
const maxComponents = 6

func (s *Server) trajectoriesPage(r *http.Request) (any, error) {
	m, x, err := s.listOf(r, "trajectories")
	if x == nil || err != nil {
		return m, err
	}
	m.Names = index.TrajectoryNames()
	page, err := x.Trajectories(r.Context(), m.Query)
	if err := m.show(page, err); err != nil {
		return nil, err
	}
	m.head("trajectory", "trajectory_id", true)
	m.head("group", "group_id", true)
	m.head("generation", "generation", false)
	m.head("status", "status", true)
	m.head("stop", "stop_reason", true)
	m.head("failure", "failure_class", true)
	m.head("reward", "reward", false)
	for i, name := range x.Components() {
		if i < maxComponents {
			m.head(name, index.ComponentColumn(name), false)
		}
	}
	m.head("advantage", "advantage", false)
	m.head("prompt tokens", "prompt_tokens", false)
	m.head("sampled tokens", "sampled_tokens", false)
	if x.Decided() {
		m.head("curate", "decision", true)
	}
	if m.Problem != "" {
		return m, nil
	}
	for _, row := range page.Items {
		cells := trajectoryCells(m.Key, x, x.At(row))
		cells[0].URL = listed(r, cells[0].URL)
		m.Rows = append(m.Rows, cells)
	}
	return m, nil
}

func trajectoryCells(key string, x *index.Index, t index.Trajectory) []listCell {
	row := []listCell{{Text: t.ID, URL: link("d", key, "t", t.ID), Words: true},
		{Text: t.Group, URL: link("d", key, "g", t.Group), Words: true}, {Text: count(t.Generation)},
		{Text: t.Status, Words: true}, {Text: t.Stop, Words: true}, {Text: t.Failure, Words: true}, {Text: figure(t.Reward)}}
	for i, c := range t.Components {
		if i < maxComponents {
			row = append(row, listCell{Text: figure(c.Value)})
		}
	}
	row = append(row, listCell{Text: figure(t.Advantage)}, listCell{Text: count(t.PromptTokens)},
		listCell{Text: count(t.SampledTokens)})
	if x.Decided() {
		row = append(row, listCell{Text: t.Decision, Words: true})
	}
	return row
}
