/* Converts a trace without files: one function provides the input, another one receives the profile.
 *
 *     stream <TRACE >PROFILE */
#include <stdio.h>

#include <gecko_convert.h>

static ptrdiff_t read_stream(void *context, void *bytes, size_t capacity_bytes) {
    FILE *stream = context;
    size_t bytes_count = fread(bytes, 1, capacity_bytes, stream);
    return ferror(stream) ? -1 : (ptrdiff_t)bytes_count;
}

static bool write_stream(void *context, const void *bytes, size_t bytes_count) {
    return fwrite(bytes, 1, bytes_count, context) == bytes_count;
}

int main(void) {
    struct gecko_convert_options options = {.struct_bytes = sizeof options,
                                            .read = read_stream,
                                            .read_context = stdin,
                                            .input_name = "the stream",
                                            .write = write_stream,
                                            .write_context = stdout};
    struct gecko_convert_result result = {.struct_bytes = sizeof result};
    enum gecko_convert_status status = gecko_convert(&options, &result);
    if (status != GECKO_CONVERT_GOOD) fprintf(stderr, "%s\n", result.message);
    gecko_convert_result_fini(&result);
    if (fclose(stdout) != 0 && status == GECKO_CONVERT_GOOD) return GECKO_CONVERT_IO_FAILED;
    return (int)status;
}
