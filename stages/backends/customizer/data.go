package customizer

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/stages/backends"
	"github.com/rollmill/rollmill/stages/backends/hfhub"
	"github.com/rollmill/rollmill/stages/internal/remote"
)

// The files of a dataset. A job takes all files of each folder together.
const (
	trainingFile   = "training/training_file.jsonl"
	validationFile = "validation/validation_file.jsonl"
)

// data uploads the batch and registers it; name is the dataset's.
func (t *Trainer) data(ctx context.Context, s backends.Submission, groups backends.Groups,
	event func(backends.JobEvent)) (name string, err error) {
	train, err := hfhub.NewSpool()
	if err != nil {
		return "", err
	}
	defer train.Close()
	held, err := hfhub.NewSpool()
	if err != nil {
		return "", err
	}
	defer held.Close()
	if err := t.write(train, held, s, groups, event); err != nil {
		return "", err
	}
	if train.Size() == 0 || held.Size() == 0 {
		return "", &remote.Error{What: fmt.Sprintf("customizer: %d bytes to train on and %d to validate on: the "+
			"service needs both", train.Size(), held.Size())}
	}
	sum := sha256.Sum256([]byte(train.SHA256() + held.SHA256()))
	name = t.cfg.Dataset + "-" + hex.EncodeToString(sum[:8])
	files := []hfhub.File{train.File(trainingFile), held.File(validationFile)}
	if err := t.upload(ctx, s, name, files); err != nil {
		return "", err
	}
	if err := s.Guard(); err != nil {
		return "", err
	}
	return name, t.register(ctx, name, s)
}

// upload makes the repository contain exactly these files, by one commit.
func (t *Trainer) upload(ctx context.Context, s backends.Submission, name string, files []hfhub.File) error {
	id := t.cfg.Namespace + "/" + name
	if err := t.store.Create(ctx, id); err != nil {
		return err
	}
	_, err := t.store.Push(ctx, hfhub.Change{
		Repo: id, Files: files, Summary: fmt.Sprintf("rollmill: run %s, epoch %d", s.Run, s.Epoch),
		Description: "submission " + s.Token,
		Guard:       s.Guard, Settle: t.cfg.Settle,
		Delete: func(path string) bool { // existing files would be trained on
			folder, _, _ := strings.Cut(path, "/")
			return slices.Contains([]string{"training", "validation", "testing"}, folder)
		},
	})
	return err
}

// register makes the dataset's record, and checks that it refers to the uploaded files.
func (t *Trainer) register(ctx context.Context, name string, s backends.Submission) error {
	files := "hf://datasets/" + t.cfg.Namespace + "/" + name
	body := map[string]any{"name": name, "namespace": t.cfg.Namespace, "files_url": files,
		"description": fmt.Sprintf("run %s, epoch %d, submission %s", s.Run, s.Epoch, s.Token)}
	if t.cfg.Project != "" {
		body["project"] = t.cfg.Project
	}
	type dataset struct {
		Files string `json:"files_url"`
	}
	var d dataset
	err := t.entity.Post(ctx, t.at("datasets"), body, &d)
	// it may exist, from this or another attempt
	if remote.Unsure(err) || remote.Status(err) == http.StatusUnprocessableEntity {
		d = dataset{}
		look := t.entity.Get(ctx, t.at("datasets", t.cfg.Namespace, name), &d)
		if look != nil {
			return errors.Join(err, look)
		}
		err = nil
	}
	if err != nil {
		return err
	}
	if d.Files != files {
		q := remote.Request{Method: http.MethodPatch, URL: t.at("datasets", t.cfg.Namespace, name),
			JSON: map[string]string{"files_url": files}}
		if err := remote.Again(ctx, func() error { _, err := t.entity.Do(ctx, q, &d); return err }); err != nil {
			return err
		}
	}
	if d.Files != files {
		return &remote.Error{What: fmt.Sprintf("customizer: the dataset %s/%s means %q, not what was uploaded (%q)",
			t.cfg.Namespace, name, d.Files, files), Help: "a job would train on other data"}
	}
	return nil
}
