/** Problems of bots, their people and lanes, webhooks, schedules and background processes. */
export const gatewayProblems = {
  bot_refused: {
    status: 400,
    title: "The platform rejected this token.",
    next: "Copy the whole token from @BotFather again.",
  },
  bot_unreachable: {
    status: 503,
    title: "The platform cannot be reached.",
    next: "Check that this machine reaches api.telegram.org, and try again.",
  },
  bot_configured: {
    status: 409,
    title: "The bot's token is set in the host's configuration.",
    next: "Change HOLDFAST_TELEGRAM_TOKEN or telegramToken there, and restart the host.",
  },
  bot_elsewhere: {
    status: 409,
    title: "The chat gateway is not running in this process.",
    next: "Use or start a host whose roles (HOLDFAST_ROLES) include gateway.",
  },
  bot_not_found: {
    status: 404,
    title: "No bot has been connected on the page.",
    next: "Read the gateway again.",
  },
  pairing_not_found: {
    status: 404,
    title: "This code is wrong or has expired.",
    next: "Ask the person to write to the bot again, and use the code in its reply.",
  },
  chunk_not_found: {
    status: 404,
    title: "There is no such undelivered message.",
    next: "Read the gateway again.",
  },
  process_not_found: {
    status: 404,
    title: "There is no such background process, or it ended too long ago.",
    next: "Read the session's processes again.",
  },
  schedule_not_found: {
    status: 404,
    title: "There is no such schedule.",
    next: "Read the schedules again.",
  },
  lane_not_found: {
    status: 404,
    title: "Nobody has written in this lane yet.",
    next: "Write there first, or choose a lane that the gateway lists.",
  },
  too_many_schedules: {
    status: 409,
    title: "There are too many schedules.",
    next: "Remove one that is no longer needed.",
  },
  webhook_unsigned: {
    status: 401,
    title: "The signature does not match a secret of this webhook.",
    next: "Sign the id, timestamp and body exactly as they are sent: v1, and the HMAC-SHA256 in base64.",
  },
  webhook_stale: {
    status: 401,
    title: "The timestamp is more than five minutes off.",
    next: "Set the clock, and sign every attempt anew.",
  },
  webhook_conflict: {
    status: 409,
    title: "Another message was already received under this webhook-id.",
    next: "Give each message its own id; a repeated message keeps its id.",
  },
  answer_refused: {
    status: 409,
    title: "The answer was not accepted.",
    next: "Read `detail`. A question takes one of the answers it offers, once.",
  },
  webhook_configured: {
    status: 409,
    title: "This webhook is set in the host's configuration.",
    next: "Change it there, and restart the host.",
  },
  webhook_not_found: {
    status: 404,
    title: "There is no webhook with this name.",
    next: "Read the gateway again.",
  },
} as const;
