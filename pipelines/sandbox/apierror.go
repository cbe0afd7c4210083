package sandbox

import (
	"encoding/json"
	"fmt"
	"net/http"
)

// apiError is an error in OpenAI's form.
type apiError struct {
	status  int
	Message string  `json:"message"`
	Type    string  `json:"type"`
	Param   *string `json:"param"`
	Code    *string `json:"code"`
}

func newAPIError(status int, kind, param, code, format string, args ...any) *apiError {
	e := &apiError{status: status, Message: fmt.Sprintf(format, args...), Type: kind}
	if param != "" {
		e.Param = &param
	}
	if code != "" {
		e.Code = &code
	}
	return e
}

func badRequest(param, format string, args ...any) *apiError {
	return newAPIError(http.StatusBadRequest, "invalid_request_error", param, "", format, args...)
}

func noModel(name string) *apiError {
	return newAPIError(http.StatusNotFound, "invalid_request_error", "model", "model_not_found",
		"The model `%s` does not exist.", name)
}

func (e *apiError) write(w http.ResponseWriter) {
	writeJSON(w, e.status, map[string]any{"error": e})
}

// writeDetail writes an error of a control route, as FastAPI does.
func writeDetail(w http.ResponseWriter, status int, text string) {
	writeJSON(w, status, map[string]string{"detail": text})
}

// writeNull writes a success without content.
func writeNull(w http.ResponseWriter) { writeJSON(w, http.StatusOK, nil) }

func writeJSON(w http.ResponseWriter, status int, v any) {
	body, err := json.Marshal(v)
	if err != nil {
		http.Error(w, "Internal Server Error", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	w.Write(body)
}
