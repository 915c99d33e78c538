/** Any JSON value. */
export type Json = string | number | boolean | null | readonly Json[] | {
    readonly [name: string]: Json;
};
/** A callback about a run's end or pause. */
export type Callback = {
    readonly object: "callback";
    /** The `webhook-id` of all its attempts. */
    readonly id: string;
    /** Name in `callbacks`; `webhook:<name>` for the callback of a webhook. */
    readonly name: string;
    readonly session_id: string;
    readonly run_id: string;
    readonly status: "pending" | "delivered" | "failed";
    readonly attempts: readonly ({
        readonly at: string;
        /** Status of the response. */
        readonly status?: number;
        /** Why there was no response. */
        readonly error?: string;
    })[];
    /** When it is sent next. */
    readonly next_at?: string;
};
export type CallbackPage = {
    readonly object: "list";
    readonly data: readonly (Callback)[];
    /** Value of `after` for the next page; null on the last page. At most 64 characters. */
    readonly next: string | null;
    readonly has_more: boolean;
};
export type ChatCompletion = {
    readonly id: string;
    readonly object: "chat.completion";
    readonly created: number;
    readonly model: string;
    readonly choices: readonly ({
        readonly index: number;
        readonly message: {
            readonly role: "assistant";
            readonly content: string | null;
            readonly refusal: null;
            readonly tool_calls?: readonly ({
                readonly id: string;
                readonly type: "function";
                readonly function: {
                    readonly name: string;
                    readonly arguments: string;
                };
            })[];
        };
        readonly finish_reason: "stop" | "length" | "tool_calls";
        readonly logprobs: null;
    })[];
    readonly usage?: {
        readonly prompt_tokens: number;
        readonly completion_tokens: number;
        readonly total_tokens: number;
        readonly prompt_tokens_details: {
            readonly cached_tokens: number;
        };
        readonly completion_tokens_details: {
            readonly reasoning_tokens: number;
        };
    };
};
/** The request of OpenAI's API. `model` names an agent. The agent's own settings apply. `temperature` and similar fields are ignored, unless its policy `request_options` accepts them. */
export type ChatCompletionRequest = {
    readonly model: string;
    readonly messages: readonly ({
        readonly role: "system" | "developer";
        readonly content: string | readonly ({
            readonly type: "text";
            readonly text: string;
        })[];
    } | {
        readonly role: "user";
        readonly content: string | (readonly ({
            readonly type: "text";
            readonly text: string;
        } | {
            readonly type: "image_url";
            readonly image_url: {
                readonly url: string;
            };
        } | {
            readonly type: "file";
            readonly file: {
                readonly filename?: string;
                readonly file_data?: string;
                readonly file_id?: string;
            };
        })[]);
    } | {
        readonly role: "assistant";
        readonly content?: string | (readonly ({
            readonly type: "text";
            readonly text: string;
        } | {
            readonly type: "refusal";
            readonly refusal: string;
        })[]) | null;
        readonly refusal?: string | null;
        readonly tool_calls?: readonly ({
            readonly id: string;
            readonly type?: "function";
            readonly function: {
                readonly name: string;
                readonly arguments: string;
            };
        })[] | null;
    } | {
        readonly role: "tool";
        readonly tool_call_id: string;
        readonly content: string | readonly ({
            readonly type: "text";
            readonly text: string;
        })[];
    })[];
    readonly stream?: boolean | null;
    readonly stream_options?: {
        readonly include_usage?: boolean | null;
    } | null;
    readonly tools?: readonly ({
        readonly type: "function";
        readonly function: {
            readonly name: string;
            readonly description?: string | null;
            /** JSON Schema of the arguments. */
            readonly parameters?: {
                readonly [name: string]: Json;
            } | null;
            readonly strict?: boolean | null;
        };
    })[] | null;
    readonly user?: string | null;
    readonly metadata?: {
        readonly [name: string]: string;
    } | null;
    readonly response_format?: {
        readonly type: "text";
    } | {
        readonly type: "json_object";
    } | {
        readonly type: "json_schema";
        readonly json_schema: {
            readonly name: string;
            readonly description?: string | null;
            readonly schema?: {
                readonly [name: string]: Json;
            } | null;
            readonly strict?: boolean | null;
        };
    } | null;
    readonly tool_choice?: ("auto" | "none" | "required") | {
        readonly type: "function";
        readonly function: {
            readonly name: string;
        };
    } | null;
    readonly stop?: string | readonly (string)[] | null;
    readonly temperature?: number | null;
    readonly top_p?: number | null;
    readonly max_tokens?: number | null;
    readonly max_completion_tokens?: number | null;
    readonly seed?: number | null;
    readonly reasoning_effort?: string | null;
    readonly n?: 1 | null;
    readonly logprobs?: false | null;
    readonly top_logprobs?: 0 | null;
    readonly audio?: null;
    readonly functions?: readonly (Json)[] | null;
    readonly function_call?: null;
    readonly prediction?: null;
    readonly web_search_options?: null;
    readonly modalities?: readonly ("text")[] | null;
};
/** A message of the Chat Completions API, in the form that an OpenAI-compatible server receives. */
export type ChatMessage = {
    readonly role: "system" | "user" | "assistant" | "tool";
};
export type ChatMessagePage = {
    readonly object: "list";
    readonly data: readonly (ChatMessage)[];
    /** Value of `after` for the next page; null on the last page. At most 64 characters. */
    readonly next: string | null;
    readonly has_more: boolean;
};
/** Body that `DefaultChatTransport` of the AI SDK sends; `agent`, `tools` and `sdk` go into its `body`. */
export type ChatRequest = {
    readonly id: string;
    readonly messages: readonly ({
        readonly [name: string]: Json;
    })[];
    /** `regenerate-message`: replaces the run of the message `messageId`, or the newest run. */
    readonly trigger?: "submit-message" | "regenerate-message";
    readonly messageId?: string | null;
    readonly agent?: string;
    /** Tools with different names. */
    readonly tools?: readonly (ClientTool)[];
    /** 7 if the client is version 7 of the AI SDK, which can discard a step. */
    readonly sdk?: number;
};
/** A tool that you execute: its calls wait for your tool result. */
export type ClientTool = {
    readonly name: string;
    readonly description: string;
    /** JSON Schema of the arguments. */
    readonly parameters: {
        readonly [name: string]: Json;
    };
    /** Calls whose arguments are not JSON or do not fit `parameters` get an error result at once, and do not wait for you. Default: false. */
    readonly strict?: boolean;
};
/** The contents of the next request to the model. */
export type Context = {
    readonly object: "context";
    readonly agent: string;
    readonly model: string;
    readonly instructions: string | null;
    readonly messages: readonly (ChatMessage)[];
    /** Names of the declared tools, in the form that the provider receives. */
    readonly tools: readonly (string)[];
    /** The tools whose own names the provider would refuse. Absent if there are none. */
    readonly mapped_tools?: readonly ({
        readonly name: string;
        readonly original_name: string;
    })[];
    readonly estimated_tokens: number;
    readonly context_tokens: number;
    readonly summary: Summary | null;
    /** Rounds omitted from the request because they no longer fit; the log keeps them. */
    readonly omitted: {
        readonly messages: number;
    };
};
export type Conversation = {
    readonly id: string;
    readonly object: "conversation";
    readonly created_at: number;
    readonly metadata: {
        readonly [name: string]: Json;
    };
};
export type ConversationChange = {
    /** Replaces the metadata. */
    readonly metadata: {
        readonly [name: string]: string;
    } | null;
};
export type ConversationRequest = {
    readonly items?: readonly ({
        readonly [name: string]: Json;
    })[] | null;
    readonly metadata?: {
        readonly [name: string]: string;
    } | null;
};
export type DeletedConversation = {
    readonly id: string;
    readonly object: "conversation.deleted";
    readonly deleted: true;
};
export type DeletedResponse = {
    readonly id: string;
    readonly object: "response.deleted";
    readonly deleted: true;
};
/** Parts of a session that are deleted so far. */
export type Deletion = {
    readonly object: "deletion";
    readonly id: string;
    readonly session_id: string;
    readonly status: "running" | "completed";
    readonly deleted: {
        readonly messages: number;
        readonly runs: number;
        readonly outputs: number;
        readonly documents: number;
    };
};
export type ForeignEvent = {
    readonly data: string;
    readonly event?: string;
};
export type Health = {
    readonly status: "ok" | "failing";
    readonly version: string;
    readonly storage: "ok" | "failing";
};
export type Import = {
    readonly object: "import";
    /** Number of messages stored by this import. With an `Idempotency-Key`, includes those stored by earlier attempts. */
    readonly messages: number;
    readonly first: string | null;
    readonly last: string | null;
    /** With `from`: number of stored messages of this source. */
    readonly total?: number;
};
export type InputTokens = {
    readonly object: "response.input_tokens";
    readonly input_tokens: number;
};
/** The fields of a request for a Response. All are optional. */
export type InputTokensRequest = {
    readonly model?: string | null;
    readonly input?: string | readonly ({
        readonly [name: string]: Json;
    })[] | null;
    readonly instructions?: string | null;
    readonly previous_response_id?: string | null;
    readonly conversation?: string | {
        readonly id: string;
    } | null;
    readonly tools?: readonly ({
        readonly type: "function";
        readonly name: string;
        readonly description?: string | null;
        /** JSON Schema of the arguments. */
        readonly parameters?: {
            readonly [name: string]: Json;
        } | null;
        readonly strict?: boolean | null;
    } | {
        readonly type: "namespace";
        readonly name: string;
        readonly description?: string | null;
        readonly tools: readonly ({
            readonly type: "function";
            readonly name: string;
            readonly description?: string | null;
            /** JSON Schema of the arguments. */
            readonly parameters?: {
                readonly [name: string]: Json;
            } | null;
            readonly strict?: boolean | null;
        } | {
            readonly type: "custom";
        })[];
    } | {
        readonly type: "apply_patch" | "code_interpreter" | "computer" | "computer_use_preview" | "custom" | "file_search" | "image_generation" | "local_shell" | "mcp" | "programmatic_tool_calling" | "shell" | "tool_search" | "web_search" | "web_search_2025_08_26" | "web_search_preview" | "web_search_preview_2025_03_11";
    })[] | null;
    readonly tool_choice?: ("auto" | "none" | "required") | {
        readonly type: "function";
        readonly name: string;
        readonly namespace?: string | null;
    } | null;
};
/** An item. */
export type Item = {
    readonly [name: string]: Json;
};
export type ItemList = {
    readonly object: "list";
    readonly data: readonly ({
        readonly [name: string]: Json;
    })[];
    readonly first_id: string | null;
    readonly last_id: string | null;
    readonly has_more: boolean;
};
/** One entry of the log. The fields from `tool_call_id` on are those of tool messages. */
export type Message = {
    readonly object: "message";
    readonly id: string;
    readonly session_id: string;
    readonly run_id: string;
    readonly agent: string;
    readonly parent_tool_call_id?: string;
    /** Message id of the delegate call; call ids may repeat. */
    readonly parent_message_id?: string;
    readonly role: "user" | "assistant" | "tool";
    readonly round: number;
    /** Id of the run that replaced this run first. Requests omit its messages. */
    readonly superseded_by?: string;
    readonly created_at: string;
    /** Time of the import. `created_at` is the time in the source. */
    readonly recorded_at?: string;
    readonly user?: string;
    readonly metadata?: {
        readonly [name: string]: Json;
    };
    readonly parts: readonly ({
        readonly type: "text";
        readonly text: string;
    } | {
        readonly type: "reasoning";
        readonly text: string;
    } | {
        readonly type: "tool_call";
        readonly id: string;
    } | {
        readonly type: "image" | "file";
        readonly id: string;
        readonly media_type: string;
        readonly filename?: string;
        readonly bytes: number;
        readonly url: string;
    } | {
        readonly type: "data";
        readonly data?: Json;
    } | {
        readonly type: "error";
        readonly code: string;
        readonly text: string;
    })[];
    /** Calls of an assistant message; `arguments` is the raw string as the model sent it. */
    readonly tool_calls?: readonly ({
        readonly id: string;
        readonly name: string;
        readonly arguments: string;
    })[];
    readonly model?: string;
    readonly finish_reason?: string;
    readonly usage?: Usage;
    /** The latest rating of each person, on assistant messages. */
    readonly feedback?: readonly ({
        readonly rating: "positive" | "negative";
        readonly user: string;
        readonly at: string;
    })[];
    readonly tool_call_id?: string;
    readonly tool_name?: string;
    readonly assistant_message_id?: string;
    readonly call?: string;
    /** The call's raw arguments as the model sent them. */
    readonly arguments?: string;
    readonly sequence?: number;
    readonly status?: "running" | "waiting" | "completed" | "error" | "interrupted" | "cancelled" | "denied";
    /** Set if a client's tool replaced the agent's tool of this name. The result then comes from the client. */
    readonly origin?: "client";
    /** Namespace of a client's tool in the Responses format; `tool_name` begins with it. */
    readonly namespace?: string;
    /** Decision on a call that needed an approval; `by` if the channel knows the person. */
    readonly decision?: {
        readonly approved: boolean;
        readonly by?: string;
        readonly at: string;
    };
    readonly completed_at?: string;
    readonly duration_ms?: number;
    readonly output?: Output;
    readonly sources?: readonly ({
        /** Number that citations use, as in `[source7]`. Absent in events, and until a completion has followed the result. */
        readonly number?: number;
        readonly title: string;
        readonly url?: string;
        /** Null until its run has completed, and under the policy `keep`. */
        readonly cited: boolean | null;
    })[];
};
export type MessagePage = {
    readonly object: "list";
    readonly data: readonly (Message)[];
    /** Value of `after` for the next page; null on the last page. At most 64 characters. */
    readonly next: string | null;
    readonly has_more: boolean;
    /** In pages with the oldest first: value of `before` for older messages; null at the beginning of the log. */
    readonly previous?: string | null;
};
export type Model = {
    readonly id: string;
    readonly object: "model";
    readonly created: number;
    readonly owned_by: "tooltrail";
};
export type ModelList = {
    readonly object: "list";
    readonly data: readonly (Model)[];
};
export type NewFork = {
    /** The last message to copy: an input, or the last of a run that has ended. Default: of the newest such run. */
    readonly through?: string;
    readonly id?: string;
    readonly title?: string;
};
/** Turns that were executed elsewhere, in the order of the conversation. Times are ISO 8601 with a zone, in `created_at`. */
export type NewImport = {
    readonly format: "native" | "openai";
    readonly messages: readonly ({
        readonly [name: string]: Json;
    })[];
    readonly source?: string;
    /** Number of messages of this `source` before these. Known messages are skipped. */
    readonly from?: number;
};
export type NewItems = {
    readonly items: readonly ({
        readonly [name: string]: Json;
    })[];
};
export type NewMessage = {
    /** Required, except with `replaces`: without it, the input of the replaced run is sent again. */
    readonly content?: string | (readonly ({
        readonly type: "text";
        readonly text: string;
    } | {
        readonly type: "image";
        readonly media_type: string;
        readonly filename?: string;
        readonly data: string;
    } | {
        readonly type: "file";
        readonly media_type: string;
        readonly filename?: string;
        readonly data: string;
    } | {
        readonly type: "image";
        /** Fetched before the input is accepted. */
        readonly url: string;
        readonly filename?: string;
    })[]);
    /** Id of an ended run of this session. This run and all later runs are superseded: requests omit their messages, and the log keeps them. If a run of the session has not ended, the response is 409 `session_busy`, whatever `on_busy` says. */
    readonly replaces?: string;
    readonly user?: string;
    readonly metadata?: {
        readonly [name: string]: Json;
    };
    /** Tools with different names. */
    readonly tools?: readonly (ClientTool)[];
    /** Handling of the input while a run is active; by default the agent's policy. */
    readonly on_busy?: "queue" | "reject" | "steer";
    /** Name in `callbacks` of the settings: receives the run's end and pauses. */
    readonly callback?: string;
    readonly response_format?: ResponseFormat;
    /** Choice for the run's first round; `auto` afterwards. */
    readonly tool_choice?: ("auto" | "none" | "required") | {
        readonly name: string;
    };
    /** Texts at which the model stops. */
    readonly stop?: readonly (string)[];
    readonly temperature?: number;
    readonly top_p?: number;
    readonly max_output_tokens?: number;
    readonly seed?: number;
    readonly reasoning_effort?: "none" | "minimal" | "low" | "medium" | "high" | "xhigh" | "max";
};
export type NewSession = {
    /** Your own id. Default: a new id is created. */
    readonly id?: string;
    readonly agent?: string;
    readonly owner?: string;
    /** The `user` of inputs that name none. */
    readonly user?: string;
    readonly title?: string;
    readonly instructions?: string;
    readonly metadata?: {
        readonly [name: string]: Json;
    };
};
export type OpenAiError = {
    readonly error: {
        readonly message: string;
        readonly type: string;
        readonly param: string | null;
        readonly code: string | null;
    };
};
export type Output = {
    readonly pointer: string;
    readonly bytes: number;
    readonly lines: number;
    readonly sha256: string;
    readonly media_type: string;
    /** Whether the message only has a preview; `url` returns the whole output. */
    readonly offloaded: boolean;
    readonly url: string;
};
/** A problem (RFC 9457). */
export type Problem = {
    readonly type: string;
    readonly title: string;
    readonly status: number;
    readonly detail: string;
    readonly instance: string;
    readonly request_id: string;
    readonly errors?: readonly ({
        readonly path: string;
        readonly message: string;
    })[];
};
/** Format of completions without calls. An answer that does not fit is requested once more. The run then shows `output`. */
export type ResponseFormat = {
    readonly type: "text";
} | {
    readonly type: "json_object";
} | {
    readonly type: "json_schema";
    readonly name: string;
    readonly description?: string;
    /** JSON Schema of the answer. */
    readonly schema: {
        readonly [name: string]: Json;
    };
    /** Passed to providers that know it. Default: false. */
    readonly strict?: boolean;
};
/** The request of OpenAI's API. `model` names an agent. The agent's own settings apply. `temperature` and similar fields are ignored, unless its policy `request_options` accepts them. */
export type ResponseRequest = {
    readonly model: string;
    readonly input: string | readonly ({
        readonly [name: string]: Json;
    })[];
    readonly instructions?: string | null;
    readonly previous_response_id?: string | null;
    readonly conversation?: string | {
        readonly id: string;
    } | null;
    readonly store?: boolean | null;
    readonly stream?: boolean | null;
    readonly background?: boolean | null;
    readonly tools?: readonly ({
        readonly type: "function";
        readonly name: string;
        readonly description?: string | null;
        /** JSON Schema of the arguments. */
        readonly parameters?: {
            readonly [name: string]: Json;
        } | null;
        readonly strict?: boolean | null;
    } | {
        readonly type: "namespace";
        readonly name: string;
        readonly description?: string | null;
        readonly tools: readonly ({
            readonly type: "function";
            readonly name: string;
            readonly description?: string | null;
            /** JSON Schema of the arguments. */
            readonly parameters?: {
                readonly [name: string]: Json;
            } | null;
            readonly strict?: boolean | null;
        } | {
            readonly type: "custom";
        })[];
    } | {
        readonly type: "apply_patch" | "code_interpreter" | "computer" | "computer_use_preview" | "custom" | "file_search" | "image_generation" | "local_shell" | "mcp" | "programmatic_tool_calling" | "shell" | "tool_search" | "web_search" | "web_search_2025_08_26" | "web_search_preview" | "web_search_preview_2025_03_11";
    })[] | null;
    readonly metadata?: {
        readonly [name: string]: string;
    } | null;
    readonly user?: string | null;
    readonly safety_identifier?: string | null;
    readonly prompt_cache_key?: string | null;
    readonly text?: {
        readonly format?: {
            readonly type: "text";
        } | {
            readonly type: "json_object";
        } | {
            readonly type: "json_schema";
            readonly name: string;
            readonly description?: string | null;
            readonly schema?: {
                readonly [name: string]: Json;
            } | null;
            readonly strict?: boolean | null;
        } | null;
    } | null;
    readonly tool_choice?: ("auto" | "none" | "required") | {
        readonly type: "function";
        readonly name: string;
        readonly namespace?: string | null;
    } | null;
    readonly temperature?: number | null;
    readonly top_p?: number | null;
    readonly max_output_tokens?: number | null;
    readonly reasoning?: {
        readonly effort?: string | null;
    } | null;
    readonly prompt?: null;
    readonly truncation?: "disabled" | "auto" | null;
    readonly top_logprobs?: 0 | null;
    readonly max_tool_calls?: null;
    readonly context_management?: null;
};
export type ResponseResource = {
    readonly id: string;
    readonly object: "response";
    readonly created_at: number;
    readonly completed_at: number | null;
    readonly status: "queued" | "in_progress" | "completed" | "incomplete" | "failed" | "cancelled";
    readonly background: boolean;
    readonly error: {
        readonly code: string;
        readonly message: string;
    } | null;
    readonly incomplete_details: {
        readonly reason: string;
    } | null;
    readonly instructions: string | null;
    readonly max_output_tokens: null;
    readonly max_tool_calls: null;
    readonly metadata: {
        readonly [name: string]: Json;
    };
    readonly model: string;
    readonly output: readonly ({
        readonly [name: string]: Json;
    })[];
    readonly parallel_tool_calls: true;
    readonly previous_response_id: string | null;
    readonly conversation: {
        readonly id: string;
    };
    readonly store: boolean;
    readonly presence_penalty: number;
    readonly frequency_penalty: number;
    readonly prompt_cache_key: string | null;
    readonly reasoning: null;
    readonly safety_identifier: string | null;
    readonly service_tier: "default";
    readonly temperature: number;
    readonly text: {
        readonly format: {
            readonly [name: string]: Json;
        };
    };
    readonly tool_choice: ("auto" | "none" | "required") | {
        readonly [name: string]: Json;
    };
    readonly tools: readonly ({
        readonly [name: string]: Json;
    })[];
    readonly top_logprobs: 0;
    readonly top_p: number;
    readonly truncation: "disabled";
    readonly usage: {
        readonly input_tokens: number;
        readonly input_tokens_details: {
            readonly cached_tokens: number;
            readonly cache_write_tokens: number;
        };
        readonly output_tokens: number;
        readonly output_tokens_details: {
            readonly reasoning_tokens: number;
        };
        readonly total_tokens: number;
    } | null;
    readonly user: string | null;
};
export type Run = {
    readonly object: "run";
    readonly id: string;
    readonly session_id: string;
    readonly agent: string;
    readonly status: "queued" | "running" | "paused" | "completed" | "failed" | "cancelled";
    readonly created_at: string;
    readonly started_at?: string;
    readonly ended_at?: string;
    /** Id of the run that replaced this run first. Requests omit its messages. */
    readonly superseded_by?: string;
    readonly rounds: number;
    /** Numbers of tokens; null if the provider did not report them. */
    readonly usage: Usage & {
        readonly by_agent: {
            readonly [name: string]: Usage;
        };
    };
    /** `answer`, `output_limit` (the provider truncated the last completion), `max_rounds`, `budget`, `imported`, `error`, `cancelled` or `superseded`. */
    readonly stop_reason?: string;
    /** Source of an imported turn. */
    readonly source?: string;
    readonly error: {
        readonly code: string;
        readonly message: string;
        readonly retryable: boolean;
    } | null;
    /** Only if the run has a response format: the value of its answer. Null until the run has completed with an answer that fits the format. */
    readonly output?: {
        readonly [name: string]: Json;
    } | readonly (Json)[] | string | number | boolean | null;
    /** Calls that wait for a tool result or a decision. */
    readonly waiting: readonly ({
        /** Message id of the call. Send it with the `tool_call_id`: models reuse ids. */
        readonly message_id: string;
        readonly tool_call_id: string;
        readonly tool_name: string;
        /** The raw string as the model sent it. */
        readonly arguments: string;
        readonly needs: "result" | "approval";
        /** Agent that made the call: the agent of the run, or a member of its team. */
        readonly agent: string;
        readonly parent_tool_call_id?: string;
        /** Message id of the delegate call; call ids may repeat. */
        readonly parent_message_id?: string;
    })[];
    /** Input of a run that is queued, or was cancelled before it started. Once it has started, its input is a message. */
    readonly input?: {
        readonly parts: readonly ({
            readonly type: "text";
            readonly text: string;
        } | {
            readonly type: "image" | "file";
            readonly id: string;
            readonly media_type: string;
            readonly filename?: string;
            readonly bytes: number;
        })[];
        readonly user?: string;
        readonly metadata?: {
            readonly [name: string]: Json;
        };
    };
    /** Only if the request waited: the new messages of the run, in order, up to 4 MB. */
    readonly messages?: readonly (Message)[];
    /** There are more new messages: `GET …/messages?run=…&order=asc&after=…` continues after this one. */
    readonly messages_next?: string;
};
/** The request of AG-UI. `threadId` names the session. `state`, `context` and `forwardedProps` are ignored. */
export type RunAgentInput = {
    readonly threadId: string;
    /** Clients before version 1.0 omit it. */
    readonly protocolVersion?: string;
    readonly runId: string;
    /** Messages in the format of AG-UI. */
    readonly messages: readonly ({
        readonly [name: string]: Json;
    })[];
    readonly tools?: readonly ({
        readonly name: string;
        readonly description?: string | null;
        /** JSON Schema of the arguments. */
        readonly parameters?: {
            readonly [name: string]: Json;
        } | null;
        /** See `strict` of `ClientTool`. */
        readonly strict?: boolean | null;
        /** May contain `strict`, because packages of AG-UI send no additional fields outside of `metadata`. */
        readonly metadata?: {
            readonly [name: string]: Json;
        } | null;
    })[];
    readonly resume?: readonly ({
        readonly interruptId: string;
        readonly status: "resolved" | "cancelled";
        readonly payload?: boolean | {
            readonly [name: string]: Json;
        };
    })[] | null;
    readonly state?: Json;
    readonly context?: readonly ({
        readonly [name: string]: Json;
    })[];
};
/** The `data` of each server-sent event, on one line. */
export type RunEvent = {
    readonly type: "run.queued" | "run.resumed" | "run.paused" | "run.completed" | "run.failed" | "run.cancelled";
    readonly session_id: string;
    readonly run_id: string;
    readonly agent?: string;
    readonly parent_tool_call_id?: string;
    /** Message id of the delegate call; call ids may repeat. */
    readonly parent_message_id?: string;
    readonly run: Run;
} | {
    readonly type: "run.started";
    readonly session_id: string;
    readonly run_id: string;
    readonly agent?: string;
    readonly parent_tool_call_id?: string;
    /** Message id of the delegate call; call ids may repeat. */
    readonly parent_message_id?: string;
    readonly run: Run;
    readonly message?: Message;
} | {
    readonly type: "round.started";
    readonly session_id: string;
    readonly run_id: string;
    readonly agent?: string;
    readonly parent_tool_call_id?: string;
    /** Message id of the delegate call; call ids may repeat. */
    readonly parent_message_id?: string;
    readonly round: number;
    /** The number of the attempt whose deltas follow. Absent for the first attempt; later ones have greater numbers. */
    readonly attempt?: number;
} | {
    readonly type: "round.restarted";
    readonly session_id: string;
    readonly run_id: string;
    readonly agent?: string;
    readonly parent_tool_call_id?: string;
    /** Message id of the delegate call; call ids may repeat. */
    readonly parent_message_id?: string;
    readonly round: number;
    /** The number of the attempt whose deltas follow. Absent for the first attempt; later ones have greater numbers. */
    readonly attempt?: number;
    readonly reason: string;
} | {
    readonly type: "text.delta" | "reasoning.delta";
    readonly session_id: string;
    readonly run_id: string;
    readonly agent?: string;
    readonly parent_tool_call_id?: string;
    /** Message id of the delegate call; call ids may repeat. */
    readonly parent_message_id?: string;
    readonly round: number;
    readonly part: number;
    readonly text: string;
} | {
    readonly type: "tool_call.delta";
    readonly session_id: string;
    readonly run_id: string;
    readonly agent?: string;
    readonly parent_tool_call_id?: string;
    /** Message id of the delegate call; call ids may repeat. */
    readonly parent_message_id?: string;
    readonly round: number;
    readonly sequence: number;
    readonly tool_call_id: string;
    readonly tool_name: string;
    readonly arguments: string;
} | {
    readonly type: "tool_call.progress";
    readonly session_id: string;
    readonly run_id: string;
    readonly agent?: string;
    readonly parent_tool_call_id?: string;
    /** Message id of the delegate call; call ids may repeat. */
    readonly parent_message_id?: string;
    readonly message_id: string;
    readonly tool_call_id: string;
    readonly tool_name: string;
    readonly progress: number;
    readonly total?: number;
    readonly text?: string;
} | {
    readonly type: "message.completed" | "message.steered" | "tool_call.started" | "tool_call.completed";
    readonly session_id: string;
    readonly run_id: string;
    readonly agent?: string;
    readonly parent_tool_call_id?: string;
    /** Message id of the delegate call; call ids may repeat. */
    readonly parent_message_id?: string;
    readonly message: Message;
} | {
    readonly type: "context.nearly_full";
    readonly session_id: string;
    readonly run_id: string;
    readonly agent?: string;
    readonly parent_tool_call_id?: string;
    /** Message id of the delegate call; call ids may repeat. */
    readonly parent_message_id?: string;
    readonly messages: number;
    readonly threshold: number;
} | {
    readonly type: "context.consolidated";
    readonly session_id: string;
    readonly run_id: string;
    readonly agent?: string;
    readonly parent_tool_call_id?: string;
    /** Message id of the delegate call; call ids may repeat. */
    readonly parent_message_id?: string;
    readonly through: string;
    readonly messages: number;
} | {
    readonly type: "warning";
    readonly session_id: string;
    readonly run_id: string;
    readonly agent?: string;
    readonly parent_tool_call_id?: string;
    /** Message id of the delegate call; call ids may repeat. */
    readonly parent_message_id?: string;
    readonly code: string;
    readonly detail: string;
};
export type RunPage = {
    readonly object: "list";
    readonly data: readonly (Run)[];
    /** Value of `after` for the next page; null on the last page. At most 64 characters. */
    readonly next: string | null;
    readonly has_more: boolean;
};
export type SearchHit = {
    readonly object: "search_hit";
    readonly session_id: string;
    readonly session_title: string | null;
    /** `metadata.folder` of the session: where its work was done. */
    readonly folder?: string;
    readonly message_id: string;
    readonly run_id: string;
    /** Id of the run that replaced this run first. Requests omit its messages. */
    readonly superseded_by?: string;
    readonly role: "user" | "assistant" | "tool_call" | "tool_result";
    readonly label: "USER" | "ASSISTANT" | "TOOL CALL" | "TOOL RESULT";
    readonly tool_name?: string;
    readonly tool_call_id?: string;
    readonly status?: "running" | "waiting" | "completed" | "error" | "interrupted" | "cancelled" | "denied";
    readonly origin?: "client";
    readonly pointer?: string;
    readonly agent: string;
    readonly owner?: string;
    readonly created_at: string;
    readonly score: number;
    /** At most 300 characters; matches are between « and ». */
    readonly snippet: string;
    /** The terms of the query that the hit matches: in the entry, beside it, or in the name of its tool. */
    readonly matched: readonly ({
        readonly term: string;
        readonly where: readonly ("entry" | "neighbour" | "tool_name")[];
    })[];
    /** In groups: further hits in this session; 100 means that or more. */
    readonly more?: number;
    readonly before: {
        readonly label: "USER" | "ASSISTANT" | "TOOL CALL" | "TOOL RESULT";
        readonly text: string;
    } | null;
    readonly after: {
        readonly label: "USER" | "ASSISTANT" | "TOOL CALL" | "TOOL RESULT";
        readonly text: string;
    } | null;
};
export type SearchPage = {
    readonly object: "list";
    readonly data: readonly (SearchHit)[];
    /** Value of `after` for the next page; null on the last page. At most 64 characters. */
    readonly next: string | null;
    readonly has_more: boolean;
    /** How the query was read. Entries of the time that it names rank higher. */
    readonly understood: {
        /** Beginning of the time that the query names. */
        readonly since?: string;
        /** End of the time that the query names. */
        readonly until?: string;
        /** The searched terms, without dates and filler words. */
        readonly terms: readonly (string)[];
    };
    /** Whether hits may be missing because recently stored entries could not be indexed in time. If so, search again. */
    readonly incomplete?: true;
};
export type ServerSentEvent = {
    /** Value of `Last-Event-ID` for resuming after this event. Absent on events that report no stored data. */
    readonly id?: string;
    /** The `type` of its data. */
    readonly event: string;
    /** A `RunEvent` as JSON on one line. */
    readonly data: string;
};
export type Session = {
    readonly object: "session";
    readonly id: string;
    readonly agent: string;
    readonly owner: string | null;
    /** The `user` of inputs that name none. */
    readonly user?: string;
    readonly title: string | null;
    /** `given`: set by hand, and never replaced automatically. `agent`: set by the program that it was imported from. `model`: made under the policy `titles`. `input`: the first line of the first input. */
    readonly title_source: "given" | "agent" | "model" | "input" | null;
    /** Replaces the agent's instructions for this session. */
    readonly instructions?: string;
    readonly metadata: {
        readonly [name: string]: Json;
    };
    readonly created_at: string;
    readonly updated_at: string;
    /** Time of the earliest message; null without messages. */
    readonly first_message_at: string | null;
    /** Time of the latest message; null without messages. */
    readonly last_message_at: string | null;
    /** Inputs, and assistant messages of the leader. */
    readonly message_count: number;
    /** The latest run. */
    readonly run: {
        readonly id: string;
        readonly status: "queued" | "running" | "paused" | "completed" | "failed" | "cancelled";
    } | null;
    readonly usage: {
        readonly input_tokens: number | null;
        readonly cached_input_tokens: number | null;
        readonly cache_write_tokens: number | null;
        readonly output_tokens: number | null;
        readonly reasoning_tokens: number | null;
        readonly total_tokens: number | null;
        readonly runs: number;
        readonly rounds: number;
        readonly by_agent: {
            readonly [name: string]: Usage;
        };
    };
    readonly summary?: Summary;
    readonly forked_from?: {
        readonly session_id: string;
        readonly message_id: string;
    };
};
/** An absent field stays unchanged; null removes it. `metadata` is replaced as a whole. If the title is removed, the session gets the title of its first input. */
export type SessionChange = {
    readonly user?: string | null;
    readonly title?: string | null;
    readonly metadata?: {
        readonly [name: string]: Json;
    };
    readonly agent?: string;
    readonly instructions?: string | null;
};
export type SessionPage = {
    readonly object: "list";
    readonly data: readonly (Session)[];
    /** Value of `after` for the next page; null on the last page. At most 64 characters. */
    readonly next: string | null;
    readonly has_more: boolean;
};
/** A source of a tool result. */
export type Source = {
    readonly object: "source";
    /** Number that citations use, as in `[source7]`. It never changes. */
    readonly number: number;
    readonly title: string;
    readonly url?: string;
    /** The text; if it is large, a preview with a pointer to the whole. */
    readonly text?: string;
    /** Id that the tool gave the source. */
    readonly id?: string;
    /** Null until its run has completed, and under the policy `keep`. */
    readonly cited: boolean | null;
    /** Message id of the tool result with this source. */
    readonly message_id: string;
    readonly run_id: string;
};
export type SourcePage = {
    readonly object: "list";
    readonly data: readonly (Source)[];
    /** Value of `after` for the next page; null on the last page. At most 64 characters. */
    readonly next: string | null;
    readonly has_more: boolean;
};
/** Replaces the older conversation in requests. The messages stay in the log. */
export type Summary = {
    readonly object: "summary";
    readonly text: string;
    /** The last message that it replaces. */
    readonly through: string;
    /** Inputs and completions that it replaces. */
    readonly messages: number;
    readonly created_at: string;
    readonly usage: Usage;
    readonly model: string;
};
export type ToolResults = {
    /** At most one for each call. */
    readonly results: readonly ({
        /** Id of the call. Models may reuse ids. If several calls of the run that wait or have waited have this id, `message_id` is required; without it, the response is 409 `ambiguous_call` and names the candidates. */
        readonly tool_call_id?: string;
        /** Message id of the call, from `waiting`. Either this or `tool_call_id` is required. */
        readonly message_id?: string;
        /** Text, a list of parts, or any other JSON value. */
        readonly output: string | readonly (Json)[] | {
            readonly [name: string]: Json;
        } | number | boolean | null;
        /** Where the output comes from: numbered for the model, which can cite it. */
        readonly sources?: readonly ({
            readonly title: string;
            /** http or https. */
            readonly url?: string;
            readonly text?: string;
            readonly id?: string;
        })[];
    } | {
        /** Id of the call. Models may reuse ids. If several calls of the run that wait or have waited have this id, `message_id` is required; without it, the response is 409 `ambiguous_call` and names the candidates. */
        readonly tool_call_id?: string;
        /** Message id of the call, from `waiting`. Either this or `tool_call_id` is required. */
        readonly message_id?: string;
        readonly error: string;
    } | {
        /** Id of the call. Models may reuse ids. If several calls of the run that wait or have waited have this id, `message_id` is required; without it, the response is 409 `ambiguous_call` and names the candidates. */
        readonly tool_call_id?: string;
        /** Message id of the call, from `waiting`. Either this or `tool_call_id` is required. */
        readonly message_id?: string;
        readonly approve: boolean;
    })[];
};
export type UiMessageList = readonly ({
    readonly [name: string]: Json;
})[];
/** Numbers of tokens; null if the provider did not report them. */
export type Usage = {
    readonly input_tokens: number | null;
    readonly cached_input_tokens: number | null;
    readonly cache_write_tokens: number | null;
    readonly output_tokens: number | null;
    readonly reasoning_tokens: number | null;
    readonly total_tokens: number | null;
    /** The provider's own usage object, as sent. */
    readonly provider?: {
        readonly [name: string]: Json;
    };
};
export type UsageEntry = {
    readonly object: "usage";
    readonly by: "day" | "agent" | "owner" | "session" | "model";
    /** The day, agent, owner, session or model; null: no owner. */
    readonly key: string | null;
    readonly completions: number;
    readonly usage: {
        readonly input_tokens: number | null;
        readonly cached_input_tokens: number | null;
        readonly cache_write_tokens: number | null;
        readonly output_tokens: number | null;
        readonly reasoning_tokens: number | null;
        readonly total_tokens: number | null;
    };
    /** Cost at list prices of the tokens whose price is known; absent if no price is known. */
    readonly cost_usd?: number;
    /** Models whose tokens have no known price and are not in `cost_usd`; absent if there are none. */
    readonly unpriced_models?: readonly (string)[];
};
export type UsagePage = {
    readonly object: "list";
    readonly data: readonly (UsageEntry)[];
    /** Value of `after` for the next page; null on the last page. At most 64 characters. */
    readonly next: string | null;
    readonly has_more: boolean;
    /** The month of the price list that costs are counted with, by provider. */
    readonly price_lists: {
        readonly [name: string]: string;
    };
};
/** The query parameters of each operation. */
export interface Queries {
    readonly exportSession: {
        /** `native`: a line with the session, then one `Message` per line. `openai`: one Chat Completions message per line. `markdown`: a page for people. */
        readonly format?: "native" | "openai" | "markdown" | undefined;
        /** For `native`: whether images, files and large outputs are in the lines, or only named. */
        readonly outputs?: "inline" | "pointer" | undefined;
    };
    readonly importMessages: {
        /** Format of lines (`application/x-ndjson`); default: native. */
        readonly format?: "native" | "openai" | undefined;
        /** Source of the lines. */
        readonly source?: string | undefined;
        /** Number of messages of this `source` before these. Known messages are skipped. */
        readonly from?: number | undefined;
    };
    readonly listCallbacks: {
        readonly status?: "pending" | "delivered" | "failed" | undefined;
        readonly session?: string | undefined;
        readonly after?: string | undefined;
        readonly limit?: number | undefined;
    };
    readonly listConversationItems: {
        /** An item's id. */
        readonly after?: string | undefined;
        readonly limit?: number | undefined;
        readonly order?: "asc" | "desc" | undefined;
    };
    readonly listInputItems: {
        /** An item's id. */
        readonly after?: string | undefined;
        readonly limit?: number | undefined;
        readonly order?: "asc" | "desc" | undefined;
    };
    readonly listMessages: {
        /** Messages after this id, or the page that follows the one whose `next` this is. */
        readonly after?: string | undefined;
        /** Messages before this id. Without `after` these are the last ones before it, whatever the order. */
        readonly before?: string | undefined;
        /** Messages around the one with this id, oldest first: half of `limit` before it, the other half beginning with it. The only other parameters allowed are `limit` and `superseded`. */
        readonly around?: string | undefined;
        readonly order?: "asc" | "desc" | undefined;
        readonly limit?: number | undefined;
        readonly roles?: string | undefined;
        readonly run?: string | undefined;
        readonly agent?: string | undefined;
        /** Messages of team members that work for a delegate call with this id. */
        readonly parent_tool_call_id?: string | undefined;
        /** `false`: only messages of runs that no other run has replaced. Applies to both formats. */
        readonly superseded?: "true" | "false" | undefined;
        /** `openai`: the whole conversation as Chat Completions messages, in order. The only other parameters that apply are `limit`, `after` and `superseded`. */
        readonly format?: "native" | "openai" | undefined;
    };
    readonly listRuns: {
        readonly status?: "queued" | "running" | "paused" | "completed" | "failed" | "cancelled" | undefined;
        readonly limit?: number | undefined;
        /** Runs older than this one. */
        readonly after?: string | undefined;
    };
    readonly listSessions: {
        readonly owner?: string | undefined;
        readonly agent?: string | undefined;
        readonly run_status?: "queued" | "running" | "paused" | "completed" | "failed" | "cancelled" | undefined;
        /** The time to sort by. Sessions without messages come last under `last_message_at`. */
        readonly sort?: "last_message_at" | "updated_at" | "created_at" | undefined;
        readonly order?: "desc" | "asc" | undefined;
        /** Sessions whose sorted time is this date or time, or later. */
        readonly since?: string | undefined;
        /** Sessions up to this time, or up to the end of this date. */
        readonly until?: string | undefined;
        /** All words must occur in the title or the first input; the beginning of a word is enough. */
        readonly q?: string | undefined;
        readonly limit?: number | undefined;
        readonly after?: string | undefined;
        /** Only sessions with this value. A value that ends in `*` is a prefix. Any other key works the same. */
        readonly "metadata.folder"?: string;
    };
    readonly listSources: {
        /** Sources with a greater number. */
        readonly after?: number | undefined;
        readonly limit?: number | undefined;
        /** `true`: only cited sources; `false`: only uncited ones. */
        readonly cited?: "true" | "false" | undefined;
    };
    readonly readContext: {
        /** Only if this run is active. */
        readonly run?: string | undefined;
    };
    readonly readOutput: {
        /** The id of an image or file part. */
        readonly part?: string | undefined;
        /** Asks for a redirect to the store of large contents, for downloads that need not pass through here. The link lives five minutes and needs no key: treat it as one. Without such a store, or for small content, this has no effect. */
        readonly via?: "link" | undefined;
    };
    readonly readResponse: {
        readonly stream?: "true" | "false" | undefined;
        /** Only the events after the one with this sequence number. */
        readonly starting_after?: string | undefined;
    };
    readonly readUsage: {
        readonly by?: "day" | "agent" | "owner" | "session" | "model" | undefined;
        /** First day (UTC), included. Default: 29 days before `to`. */
        readonly from?: string | undefined;
        /** Last day (UTC), included. Default: today. */
        readonly to?: string | undefined;
        readonly limit?: number | undefined;
        readonly after?: string | undefined;
    };
    readonly searchHistory: {
        /** Any text; nothing in it is syntax. */
        readonly q: string;
        readonly role?: "user" | "assistant" | "tool_call" | "tool_result" | undefined;
        readonly tool?: string | undefined;
        readonly status?: "running" | "waiting" | "completed" | "error" | "interrupted" | "cancelled" | "denied" | undefined;
        readonly session?: string | undefined;
        readonly owner?: string | undefined;
        readonly agent?: string | undefined;
        /** Only messages with this rating. */
        readonly feedback?: "positive" | "negative" | undefined;
        /** `false`: only what no other run has replaced. `true`: only what a run has replaced. */
        readonly superseded?: "true" | "false" | undefined;
        /** Entries from this date or time on. */
        readonly since?: string | undefined;
        /** Entries up to this time, or up to the end of this date. */
        readonly until?: string | undefined;
        /** `read`: dates in `q` name a time, such as `26 November`, `2026-11-26` and `last week`. `words`: they are words like others. */
        readonly dates?: "read" | "words" | undefined;
        /** The time of the caller, against which `last week` is read. Default: the time of the server. */
        readonly now?: string | undefined;
        /** IANA time zone of the days in `q`. */
        readonly time_zone?: string | undefined;
        /** Order of the hits: best first, newest first or oldest first. */
        readonly sort?: "relevance" | "newest" | "oldest" | undefined;
        /** Returns at most one hit per session, the first in the order of the hits. `more` counts the others. */
        readonly group?: "session" | undefined;
        readonly limit?: number | undefined;
        readonly after?: string | undefined;
        /** Only sessions with this value. A value that ends in `*` is a prefix. Any other key works the same. */
        readonly "metadata.folder"?: string;
    };
}
