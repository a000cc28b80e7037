/** What may be wrong with a bot, its people and lanes, a webhook, a schedule or a background process. */
export const gatewayProblems = {
  bot_refused: {
    status: 400,
    title: "The platform does not know this token.",
    next: "Copy it again, whole, from @BotFather.",
  },
  bot_unreachable: {
    status: 503,
    title: "The platform cannot be reached.",
    next: "Check that this machine reaches api.telegram.org, and try again.",
  },
  bot_configured: {
    status: 409,
    title: "The bot's token stands in the configuration.",
    next: "Change HOLDFAST_TELEGRAM_TOKEN or telegramToken there, and start the host again.",
  },
  bot_elsewhere: {
    status: 409,
    title: "The chat gateway does not run in this process.",
    next: "Ask, or start, a host whose roles (HOLDFAST_ROLES) include gateway.",
  },
  bot_not_found: {
    status: 404,
    title: "No bot was connected on the page.",
    next: "Read the gateway again.",
  },
  pairing_not_found: {
    status: 404,
    title: "Nobody asks under this code, or not any more.",
    next: "Let the person write to the bot again, and use the code that it answers.",
  },
  chunk_not_found: {
    status: 404,
    title: "There is no such chunk that may not have arrived.",
    next: "Read the gateway again.",
  },
  process_not_found: {
    status: 404,
    title: "There is no such background process, or nobody knows of it any more.",
    next: "Read the session's processes again.",
  },
  schedule_not_found: {
    status: 404,
    title: "There is no such schedule.",
    next: "Read the schedules again.",
  },
  lane_not_found: {
    status: 404,
    title: "Nobody has spoken in this lane yet.",
    next: "Write there first, or choose a lane that the gateway lists.",
  },
  too_many_schedules: {
    status: 409,
    title: "There are as many schedules as there can be.",
    next: "Remove one that is not needed any more.",
  },
  webhook_unsigned: {
    status: 401,
    title: "This is not signed with the secret of a webhook of this name.",
    next: "Sign id, timestamp and body as they are sent: v1, and the HMAC-SHA256 in base64.",
  },
  webhook_stale: {
    status: 401,
    title: "The timestamp is more than five minutes from now.",
    next: "Set the clock right, and sign anew for each try.",
  },
  webhook_conflict: {
    status: 409,
    title: "Something else came under this webhook-id.",
    next: "Give each message an id of its own; the same message keeps its id.",
  },
  answer_refused: {
    status: 409,
    title: "The answer counted for nothing.",
    next: "Read `detail`; a question takes one of the answers that it came with, once.",
  },
  webhook_configured: {
    status: 409,
    title: "The webhook stands in the configuration.",
    next: "Change it there, and start the host again.",
  },
  webhook_not_found: {
    status: 404,
    title: "There is no webhook of this name.",
    next: "Read the gateway again.",
  },
} as const;
