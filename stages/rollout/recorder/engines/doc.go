// Package engines asks engines: it selects an endpoint for each call (balance.go), sends
// the request, retries it and reads the answer or the beginning of its stream (pool.go),
// decides what an error means (errors.go) and reads streams that are translated
// (stream.go).
//
// It records nothing. An engine that refuses a field which was added to a request is asked again without it, and never
// gets it again if that was the cause (refused_fields.go).
package engines
