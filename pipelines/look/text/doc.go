// Package text shortens texts of models and programs, and shows what is invisible in them: for
// pages, in which a text may take so many bytes, and for terminals, on which it is one line.
// It escapes nothing: templates do that for pages, and package cli for terminals.
package text
