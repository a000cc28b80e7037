import { loadOrCreateToken } from "./token.ts";
import type { Config } from "../../ops/config/settings.ts";
import { done, failed, type Outcome } from "../../util/outcome.ts";
import { isLoopback } from "../../util/ip-networks.ts";

const minPublicTokenLength = 16;
/** Those who try tokens of this length have not got anywhere by the end of time. */
export const strongTokenLength = 32;

/** The operator's token, or one that was made once and is kept in the home. */
export function chooseToken(config: Config): Outcome<string> {
  const { token, home, host } = config;
  if (token.value === undefined) return loadOrCreateToken(home.value);
  if (token.value.length < minPublicTokenLength && !isLoopback(host.value)) {
    return failed(
      "config.invalid",
      `The token is too short to serve other machines on ${host.value}: give it at least ${minPublicTokenLength} characters, or leave HOLDFAST_TOKEN out and have one made.`,
    );
  }
  return done(token.value);
}
