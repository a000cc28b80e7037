// Fonts and styles of formulas, for the first that is drawn.
// oxlint-disable-next-line import/no-unassigned-import -- a style sheet has no names
import "katex/dist/katex.css";
