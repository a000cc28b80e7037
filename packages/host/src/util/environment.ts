/** What a command may know of the host's environment. Everything else stays here, and the secrets with it. */
const allowedVariables: readonly RegExp[] = [
  /^(PATH|HOME|USER|LOGNAME|SHELL|TZ|TMPDIR|LANG|LANGUAGE)$/,
  /^LC_[A-Z]+$/,
];

export function allowedEnvironment(
  environment: Readonly<Record<string, string | undefined>>,
): Readonly<Record<string, string>> {
  const passed: Record<string, string> = {};
  for (const [name, value] of Object.entries(environment)) {
    if (value !== undefined && allowedVariables.some((pattern) => pattern.test(name)))
      passed[name] = value;
  }
  return { ...passed, TERM: "dumb" };
}
