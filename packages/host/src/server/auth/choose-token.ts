import { keepToken } from "./token.ts";
import type { Config } from "../../ops/config/settings.ts";
import { done, failed, type Outcome } from "../../util/outcome.ts";
import { isLoopback } from "../../util/ip-networks.ts";

const shortestOpenToken = 16;
/** Those who try tokens of this length have not got anywhere by the end of time. */
export const unguessableToken = 32;

/** The operator's token, or one that was made once and is kept in the home. */
export function chooseToken(config: Config): Outcome<string> {
  const { token, home, host } = config;
  if (token.value === undefined) return keepToken(home.value);
  if (token.value.length < shortestOpenToken && !isLoopback(host.value)) {
    return failed(
      "config.invalid",
      `The token is too short to serve other machines on ${host.value}: give it at least ${shortestOpenToken} characters, or leave HOLDFAST_TOKEN out and have one made.`,
    );
  }
  return done(token.value);
}
