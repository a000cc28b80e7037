import type { TaintSource } from "@holdfast/protocol";

import { coversHosts } from "./match-rules.ts";
import type { OperatorRule } from "./rule.ts";

/** The hosts that an operator allows to every confined command: `allow terminal host registry.npmjs.org`. */
export function grantedHosts(operator: readonly OperatorRule[]): readonly string[] {
  return operator.flatMap(({ effect, rule }) =>
    effect === "allow" && rule.tool === "terminal" && rule.kind === "host" ? [rule.host] : [],
  );
}

/** Where text in a command's output may come from: the hosts that it was granted, except those the operator trusts. */
export function taintOfHosts(
  granted: readonly string[],
  trusted: readonly string[] = [],
): readonly TaintSource[] {
  return granted
    .filter((host) => !coversHosts(trusted, { hosts: [host] }))
    .map((name) => ({ kind: "web", name }));
}
