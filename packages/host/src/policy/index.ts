export { keepRules, type KeptRules } from "./kept-rules.ts";
export { createPolicy, type HostPolicy } from "./policy.ts";
export { parseToolRule } from "./rule.ts";
