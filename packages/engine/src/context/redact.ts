/**
 * Forms that secrets have. A summary outlives what it was made from, and goes to a model that may be another's. Whatever can
 * run on begins where a word does: a model must not be able to make the search for them take long.
 */
const secretPatterns: readonly (readonly [RegExp, string])[] = [
  [
    /-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)/g,
    "[private key]",
  ],
  [/(?<![\w-])eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]{8,}\b/g, "[token]"],
  [
    /(?<![\w-])(?:sk|pk|rk|gh[opsur]|github_pat|glpat|xox[abeprs]|hf|npm)[-_][\w-]{16,}\b/g,
    "[key]",
  ],
  [/\b(?:AKIA|ASIA)[0-9A-Z]{16}\b/g, "[key]"],
  [/\bAIza[\w-]{30,}\b/g, "[key]"],
  [/\b(Bearer|Basic)\s+[\w+/=.~-]{12,}/gi, "$1 [token]"],
  [/(:\/\/[^\s:/@]*:)[^\s/]+@/g, "$1[password]@"],
  [
    /(?<![\w-])([\w-]*(?:(?:api|access|private|account)[-_ ]?key|secret|token(?!s)|passw(?:or)?d|passphrase)(?:[-_][\w-]{0,40}|key)?["']?\s*[:=]\s*)("[^"\n]{4,}"|'[^'\n]{4,}'|[^\s"',;]{4,})/gi,
    "$1[redacted]",
  ],
];

export function redactSecrets(text: string): string {
  return secretPatterns.reduce((left, [form, name]) => left.replaceAll(form, name), text);
}
