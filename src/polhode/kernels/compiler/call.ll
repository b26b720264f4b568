; Calls of kernels from Python, by the stable ABI of CPython: `polhode_call` is the code of every built-in function that
; `calls.python_function` makes.
;
; Kernels take their arguments as words of 64 bits: a number is one word, an array is its address and its shape, a tuple
; is its entries. They return their result in the same way. The `self` of a built-in function is a bytes object:
;
;     address of the kernel, i32 kernel(i64* result, i64* words), which returns 0 if it succeeded: 8 bytes
;     form of the tuple of all arguments
;     form of the result
;
; Forms are:  d float,  l integer,  b bool,  n None,  (k tuple of k entries, whose forms follow,  and arrays: r (which is
; read) or w (which is written), the number of dimensions, and the two letters that the type of its items may have.

%Buffer = type { ptr, ptr, i64, i64, i32, i32, ptr, ptr, ptr, ptr, ptr }  ; Py_buffer
%Cursor = type { ptr, ptr, ptr }  ; next form, next word, next unused buffer

@expected_tuple = private constant [41 x i8] c"expected a tuple of %zd entries, not %zd\00"
@expected_array = private constant [68 x i8] c"expected an array of %d dimensions of type '%c', not of %d and '%s'\00"
@expected_count = private constant [32 x i8] c"expected %zd arguments, not %zd\00"
@has_raised = private constant [62 x i8] c"compiled code has raised an exception, or has found no memory\00"
@PyExc_TypeError = external global ptr
@PyExc_RuntimeError = external global ptr
@_Py_NoneStruct = external global ptr

declare double @PyFloat_AsDouble(ptr)
declare i64 @PyLong_AsLongLong(ptr)
declare i32 @PyObject_IsTrue(ptr)
declare i64 @PyTuple_Size(ptr)
declare ptr @PyTuple_GetItem(ptr, i64)
declare ptr @PyTuple_New(i64)
declare i32 @PyTuple_SetItem(ptr, i64, ptr)
declare i32 @PyObject_GetBuffer(ptr, ptr, i32)
declare void @PyBuffer_Release(ptr)
declare ptr @PyErr_Occurred()
declare void @PyErr_SetString(ptr, ptr)
declare ptr @PyErr_Format(ptr, ptr, ...)
declare ptr @PyBytes_AsString(ptr)
declare ptr @PyFloat_FromDouble(double)
declare ptr @PyLong_FromLongLong(i64)
declare ptr @PyBool_FromLong(i64)
declare void @Py_IncRef(ptr)
declare ptr @PyEval_SaveThread()
declare void @PyEval_RestoreThread(ptr)

; Return the next form, and go on.
define internal i8 @next_form(ptr %cursor) {
  %form = load ptr, ptr %cursor
  %letter = load i8, ptr %form
  %after = getelementptr i8, ptr %form, i64 1
  store ptr %after, ptr %cursor
  ret i8 %letter
}

; Append a word.
define internal void @put(ptr %cursor, i64 %word) {
  %place = getelementptr %Cursor, ptr %cursor, i32 0, i32 1
  %at = load ptr, ptr %place
  store i64 %word, ptr %at
  %after = getelementptr i64, ptr %at, i64 1
  store ptr %after, ptr %place
  ret void
}

; Return the next word, and go on.
define internal i64 @get(ptr %cursor) {
  %place = getelementptr %Cursor, ptr %cursor, i32 0, i32 1
  %at = load ptr, ptr %place
  %word = load i64, ptr %at
  %after = getelementptr i64, ptr %at, i64 1
  store ptr %after, ptr %place
  ret i64 %word
}

; Append an array: its address and its shape. Return whether this failed.
define internal i1 @put_array(ptr %thing, i8 %access, ptr %cursor) {
  %dimensions = call i8 @next_form(ptr %cursor)
  %letter = call i8 @next_form(ptr %cursor)
  %other = call i8 @next_form(ptr %cursor)
  %unused = getelementptr %Cursor, ptr %cursor, i32 0, i32 2
  %buffer = load ptr, ptr %unused
  %written = icmp eq i8 %access, 119                      ; w
  %flags = select i1 %written, i32 61, i32 60             ; C-contiguous, with format; writable
  %missing = call i32 @PyObject_GetBuffer(ptr %thing, ptr %buffer, i32 %flags)
  %failed = icmp ne i32 %missing, 0
  br i1 %failed, label %no, label %held
held:
  %after = getelementptr %Buffer, ptr %buffer, i64 1
  store ptr %after, ptr %unused
  %ndim.at = getelementptr %Buffer, ptr %buffer, i32 0, i32 5
  %ndim = load i32, ptr %ndim.at
  %wanted = zext i8 %dimensions to i32
  %format.at = getelementptr %Buffer, ptr %buffer, i32 0, i32 6
  %format = load ptr, ptr %format.at
  %found = load i8, ptr %format
  %second.at = getelementptr i8, ptr %format, i64 1
  %second = load i8, ptr %second.at
  %one = icmp eq i8 %found, %letter
  %two = icmp eq i8 %found, %other
  %either = or i1 %one, %two
  %short = icmp eq i8 %second, 0
  %type = and i1 %either, %short
  %count = icmp eq i32 %ndim, %wanted
  %good = and i1 %type, %count
  br i1 %good, label %address, label %wrong
wrong:
  %error = load ptr, ptr @PyExc_TypeError
  %shown = zext i8 %letter to i32
  call ptr (ptr, ptr, ...) @PyErr_Format(ptr %error, ptr @expected_array, i32 %wanted, i32 %shown, i32 %ndim, ptr %format)
  br label %no
address:
  %data = load i64, ptr %buffer
  call void @put(ptr %cursor, i64 %data)
  %shape.at = getelementptr %Buffer, ptr %buffer, i32 0, i32 7
  %shape = load ptr, ptr %shape.at
  %n = zext i8 %dimensions to i64
  br label %loop
loop:
  %k = phi i64 [ 0, %address ], [ %next, %body ]
  %more = icmp slt i64 %k, %n
  br i1 %more, label %body, label %yes
body:
  %length.at = getelementptr i64, ptr %shape, i64 %k
  %length = load i64, ptr %length.at
  call void @put(ptr %cursor, i64 %length)
  %next = add i64 %k, 1
  br label %loop
yes:
  ret i1 false
no:
  ret i1 true
}

; Append the entries of a tuple. Return whether this failed.
define internal i1 @put_tuple(ptr %thing, ptr %cursor) {
  %entries = call i8 @next_form(ptr %cursor)
  %n = zext i8 %entries to i64
  %size = call i64 @PyTuple_Size(ptr %thing)              ; -1 and an exception if it is not a tuple
  %same = icmp eq i64 %size, %n
  br i1 %same, label %loop, label %wrong
wrong:
  %raised = icmp slt i64 %size, 0
  br i1 %raised, label %no, label %raise
raise:
  %error = load ptr, ptr @PyExc_TypeError
  call ptr (ptr, ptr, ...) @PyErr_Format(ptr %error, ptr @expected_tuple, i64 %n, i64 %size)
  br label %no
loop:
  %k = phi i64 [ 0, %0 ], [ %next, %body ]
  %more = icmp slt i64 %k, %n
  br i1 %more, label %body, label %yes
body:
  %entry = call ptr @PyTuple_GetItem(ptr %thing, i64 %k)
  %next = add i64 %k, 1
  %failed = call i1 @put_argument(ptr %entry, ptr %cursor)
  br i1 %failed, label %no, label %loop
yes:
  ret i1 false
no:
  ret i1 true
}

; Append the words of an argument, and advance to the next form. Return whether this failed.
define internal i1 @put_argument(ptr %thing, ptr %cursor) {
  %form = call i8 @next_form(ptr %cursor)
  switch i8 %form, label %array [ i8 100, label %float   i8 108, label %integer   i8 98, label %bool   i8 40, label %tuple ]
float:
  %double = call double @PyFloat_AsDouble(ptr %thing)
  %bits = bitcast double %double to i64
  %maybe = fcmp oeq double %double, -1.0
  br label %number
integer:
  %long = call i64 @PyLong_AsLongLong(ptr %thing)
  %maybe.not = icmp eq i64 %long, -1
  br label %number
bool:
  %truth = call i32 @PyObject_IsTrue(ptr %thing)
  %flag = sext i32 %truth to i64
  %no.truth = icmp slt i32 %truth, 0
  br label %number
number:
  %word = phi i64 [ %bits, %float ], [ %long, %integer ], [ %flag, %bool ]
  %suspect = phi i1 [ %maybe, %float ], [ %maybe.not, %integer ], [ %no.truth, %bool ]
  call void @put(ptr %cursor, i64 %word)
  br i1 %suspect, label %ask, label %good
ask:
  %exception = call ptr @PyErr_Occurred()
  %raised = icmp ne ptr %exception, null
  ret i1 %raised
good:
  ret i1 false
tuple:
  %tuple.failed = call i1 @put_tuple(ptr %thing, ptr %cursor)
  ret i1 %tuple.failed
array:
  %array.failed = call i1 @put_array(ptr %thing, i8 %form, ptr %cursor)
  ret i1 %array.failed
}

; Return the next words of the result as a Python object, or null if there is no memory.
define internal ptr @object(ptr %cursor) {
  %form = call i8 @next_form(ptr %cursor)
  switch i8 %form, label %none [ i8 100, label %float   i8 108, label %integer   i8 98, label %bool   i8 40, label %tuple ]
none:
  call void @Py_IncRef(ptr @_Py_NoneStruct)
  ret ptr @_Py_NoneStruct
float:
  %bits = call i64 @get(ptr %cursor)
  %double = bitcast i64 %bits to double
  %f = call ptr @PyFloat_FromDouble(double %double)
  ret ptr %f
integer:
  %long = call i64 @get(ptr %cursor)
  %i = call ptr @PyLong_FromLongLong(i64 %long)
  ret ptr %i
bool:
  %truth = call i64 @get(ptr %cursor)
  %b = call ptr @PyBool_FromLong(i64 %truth)
  ret ptr %b
tuple:
  %entries = call i8 @next_form(ptr %cursor)
  %n = zext i8 %entries to i64
  %t = call ptr @PyTuple_New(i64 %n)
  %failed = icmp eq ptr %t, null
  br i1 %failed, label %done, label %loop
loop:
  %k = phi i64 [ 0, %tuple ], [ %next, %body ]
  %more = icmp slt i64 %k, %n
  br i1 %more, label %body, label %done
body:
  %entry = call ptr @object(ptr %cursor)
  %ignored = call i32 @PyTuple_SetItem(ptr %t, i64 %k, ptr %entry)
  %next = add i64 %k, 1
  br label %loop
done:
  ret ptr %t
}

; Read the arguments, call the kernel without the GIL, and return its result.
define ptr @polhode_call(ptr %self, ptr %arguments, i64 %count) {
  %words = alloca [512 x i64]
  %result = alloca [64 x i64]
  %buffers = alloca [64 x %Buffer]
  %cursor = alloca %Cursor
  %recipe = call ptr @PyBytes_AsString(ptr %self)
  %forms = getelementptr i8, ptr %recipe, i64 9            ; after the parenthesis
  store ptr %forms, ptr %cursor
  %words.at = getelementptr %Cursor, ptr %cursor, i32 0, i32 1
  store ptr %words, ptr %words.at
  %buffers.at = getelementptr %Cursor, ptr %cursor, i32 0, i32 2
  store ptr %buffers, ptr %buffers.at
  %entries = call i8 @next_form(ptr %cursor)
  %n = zext i8 %entries to i64
  %same = icmp eq i64 %n, %count
  br i1 %same, label %loop, label %wrong
wrong:
  %error = load ptr, ptr @PyExc_TypeError
  call ptr (ptr, ptr, ...) @PyErr_Format(ptr %error, ptr @expected_count, i64 %n, i64 %count)
  br label %release
loop:
  %k = phi i64 [ 0, %0 ], [ %next, %body ]
  %more = icmp slt i64 %k, %n
  br i1 %more, label %body, label %run
body:
  %argument.at = getelementptr ptr, ptr %arguments, i64 %k
  %argument = load ptr, ptr %argument.at
  %next = add i64 %k, 1
  %failed = call i1 @put_argument(ptr %argument, ptr %cursor)
  br i1 %failed, label %release, label %loop
run:
  %kernel = load ptr, ptr %recipe
  %thread = call ptr @PyEval_SaveThread()
  %status = call i32 %kernel(ptr %result, ptr %words)
  call void @PyEval_RestoreThread(ptr %thread)
  %good = icmp eq i32 %status, 0
  br i1 %good, label %answer, label %raised
raised:
  %runtime.error = load ptr, ptr @PyExc_RuntimeError
  call void @PyErr_SetString(ptr %runtime.error, ptr @has_raised)
  br label %release
answer:
  store ptr %result, ptr %words.at
  %value = call ptr @object(ptr %cursor)
  br label %release
release:
  %returned = phi ptr [ null, %wrong ], [ null, %body ], [ null, %raised ], [ %value, %answer ]
  %end = load ptr, ptr %buffers.at
  br label %check
check:
  %buffer = phi ptr [ %buffers, %release ], [ %after, %free ]
  %held = icmp ne ptr %buffer, %end
  br i1 %held, label %free, label %leave
free:
  call void @PyBuffer_Release(ptr %buffer)
  %after = getelementptr %Buffer, ptr %buffer, i64 1
  br label %check
leave:
  ret ptr %returned
}

; Call a kernel with words that were prepared, of which the first two are numbers that change. The words here are the
; address of the kernel, that of the prepared words, and the two numbers.
define i32 @polhode_prepared(ptr %result, ptr %words) {
  %kernel = load ptr, ptr %words
  %prepared.at = getelementptr i64, ptr %words, i64 1
  %prepared = load ptr, ptr %prepared.at
  %numbers.at = getelementptr i64, ptr %words, i64 2
  %numbers = load <2 x i64>, ptr %numbers.at, align 8
  store <2 x i64> %numbers, ptr %prepared, align 8
  %status = call i32 %kernel(ptr %result, ptr %prepared)
  ret i32 %status
}
