package deepseek

// tools32 introduces the tools of V3.2.
const tools32 = "## Tools\n" +
	"You have access to a set of tools you can use to answer the user's question.\n" +
	"You can invoke functions by writing a \"<｜DSML｜function_calls>\" block like the following as part of your reply to the user:\n" +
	"<｜DSML｜function_calls>\n" +
	"<｜DSML｜invoke name=\"$FUNCTION_NAME\">\n" +
	"<｜DSML｜parameter name=\"$PARAMETER_NAME\" string=\"true|false\">$PARAMETER_VALUE</｜DSML｜parameter>\n" +
	"...\n" +
	"</｜DSML｜invoke>\n" +
	"<｜DSML｜invoke name=\"$FUNCTION_NAME2\">\n" +
	"...\n" +
	"</｜DSML｜invoke>\n" +
	"</｜DSML｜function_calls>\n" +
	"String and scalar parameters should be specified as is without any escaping or quotes, while lists and objects should use JSON format. The \"string\" attribute should be set to \"true\" for string type parameters and \"false\" for other types (numbers, booleans, arrays, objects).\n" +
	"If the thinking_mode is enabled, then after function results you should strongly consider outputting a thinking block. Here is an example:\n" +
	"<｜DSML｜function_calls>\n" +
	"...\n" +
	"</｜DSML｜function_calls>\n" +
	"<function_results>\n" +
	"...\n" +
	"</function_results>\n" +
	"<think>...thinking about results</think>\n" +
	"Here are the functions available in JSONSchema format:\n" +
	"<functions>\n"

// tools32End follows the tools of V3.2.
const tools32End = "\n" +
	"</functions>\n"

// tools4 introduces the tools of V4.
const tools4 = "## Tools\n" +
	"\n" +
	"You have access to a set of tools to help answer the user's question. You can invoke tools by writing a \"<｜DSML｜tool_calls>\" block like the following:\n" +
	"\n" +
	"<｜DSML｜tool_calls>\n" +
	"<｜DSML｜invoke name=\"$TOOL_NAME\">\n" +
	"<｜DSML｜parameter name=\"$PARAMETER_NAME\" string=\"true|false\">$PARAMETER_VALUE</｜DSML｜parameter>\n" +
	"...\n" +
	"</｜DSML｜invoke>\n" +
	"<｜DSML｜invoke name=\"$TOOL_NAME2\">\n" +
	"...\n" +
	"</｜DSML｜invoke>\n" +
	"</｜DSML｜tool_calls>\n" +
	"\n" +
	"String parameters should be specified as is and set `string=\"true\"`. For all other types (numbers, booleans, arrays, objects), pass the value in JSON format and set `string=\"false\"`.\n" +
	"\n" +
	"If thinking_mode is enabled (triggered by <think>), you MUST output your complete reasoning inside <think>...</think> BEFORE any tool calls or final response.\n" +
	"\n" +
	"Otherwise, output directly after </think> with tool calls or final response.\n" +
	"\n" +
	"### Available Tool Schemas\n" +
	"\n"

// tools4End follows the tools of V4.
const tools4End = "\n" +
	"\n" +
	"You MUST strictly follow the above defined tool name and parameter schemas to invoke tool calls.\n"

// effortHigh starts prompts of V4 whose effort is high.
const effortHigh = "Reasoning Effort: Absolute maximum with no shortcuts permitted.\n" +
	"You MUST be very thorough in your thinking and comprehensively decompose the problem to resolve the root cause, rigorously stress-testing your logic against all potential paths, edge cases, and adversarial scenarios.\n" +
	"Explicitly write out your entire deliberation process, documenting every intermediate step, considered alternative, and rejected hypothesis to ensure absolutely no assumption is left unchecked.\n" +
	"\n"

// effortMax starts prompts of V4 whose effort is max.
const effortMax = "Reasoning Effort: Beyond maximum — exhaustive, relentless, and uncompromising.\n" +
	"You MUST reason with the utmost depth and rigor, leaving absolutely nothing to chance: exhaustively decompose the problem into its most fundamental components, trace every causal chain to its root, and resolve the underlying cause rather than any surface symptom.\n" +
	"Do not stop reasoning until you have independently verified the solution from multiple angles and are certain that no assumption remains unchecked and no error remains undiscovered.\n" +
	"\n"
