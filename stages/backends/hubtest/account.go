package hubtest

import (
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/rollmill/rollmill/stages/backends/backendtest"
)

func (h *Hub) create(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Name         string  `json:"name"`
		Organization *string `json:"organization"`
		Type         string  `json:"type"`
		Visibility   *string `json:"visibility"`
		Private      *bool   `json:"private"`
	}
	if err := json.NewDecoder(r.Body).
		Decode(&body); err != nil || body.Name == "" || body.Type != "dataset" || h.faults.OldKeys && body.Visibility != nil {
		fail(w, http.StatusBadRequest, "", fmt.Sprintf("bad body: %+v %v", body, err))
		return
	}
	if h.faults.CreateForbidden {
		fail(w, http.StatusForbidden, "", "You don't have the rights to create a dataset under this namespace")
		return
	}
	if h.faults.CreateRaces > 0 {
		h.faults.CreateRaces--
		fail(w, http.StatusConflict, "", "Another conflicting operation is in progress. Please retry.")
		return
	}
	owner := "tester"
	if body.Organization != nil {
		owner = *body.Organization
	}
	id := owner + "/" + body.Name
	url := map[string]any{"url": h.base(r) + "/datasets/" + id, "name": id, "id": "1"}
	if h.repos[id] != nil {
		w.Header().Set("X-Error-Message", "You already created this dataset repo")
		url["error"] = "You already created this dataset repo"
		backendtest.JSON(w, http.StatusConflict, url)
		return
	}
	h.repo(id).private = body.Private != nil && *body.Private || body.Visibility != nil && *body.Visibility == "private"
	answer(w, url)
}

func (h *Hub) whoami(w http.ResponseWriter, r *http.Request) {
	switch {
	case !h.known(r):
		said := "Invalid username or password."
		if h.faults.EchoesToken {
			said += " " + r.Header.Get("Authorization")
		}
		fail(w, http.StatusUnauthorized, "", said)
	default:
		answer(w, map[string]any{"type": "user", "name": "tester", "fullname": "Tester",
			"orgs": []any{map[string]string{"name": "acme"}},
			"auth": map[string]any{"type": "access_token",
				"accessToken": map[string]string{"displayName": "t", "role": "write"}}})
	}
}

func (h *Hub) card(w http.ResponseWriter, r *http.Request) {
	var body struct{ Content, RepoType string }
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		fail(w, http.StatusBadRequest, "", err.Error())
		return
	}
	answer(w, map[string]any{"errors": []any{}, "warnings": []any{}})
}
